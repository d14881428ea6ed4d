-- Says whether the backlog still has a cadence occurrence of this schedule before p_occurrence. Stable, so
-- that it reads by the snapshot of the calling statement: an occurrence is seen in the backlog or as a job,
-- never as neither.
-- Locks: none.
-- Returns: true if it has one.
-- Called by: carillon.lane_front, for cadence jobs that have not entered the lane.
create or replace function carillon.owes_before(p_schedule bigint, p_occurrence timestamptz) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.backlog
      where schedule_id = p_schedule and next_occurrence < p_occurrence and kind = 'cadence')
  $$;
