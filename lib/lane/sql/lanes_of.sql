-- Lists the lanes that a job of a schedule passes, in the order in which it waits for them: place 1 is the
-- schedule's own lane, for cadence jobs of a schedule with an overlap rule; place 2 is the lane of its group.
-- Locks: none.
-- Returns: up to two rows; none for nearly all schedules.
-- Called by: carillon.leave_lanes and carillon.pass_lanes, for each of their jobs.
create or replace function carillon.lanes_of(p_schedule bigint, p_kind carillon.job_kind) returns table (lane text, place int)
  language sql stable
  as $$
    select l.lane, l.place
    from carillon.schedules s cross join lateral (values
      (case when s.overlap is not null and p_kind = 'cadence' then carillon.lane_of(s.id) end, 1), (s.lane, 2)) l (lane, place)
    where s.id = p_schedule and l.lane is not null
    -- Keeps this a look-up by id for each job: joined to the calling statement, it would be a walk through
    -- all schedules.
    offset 0
  $$;
