-- Tells how long after its claim the target of a job began, and when it ended, from the milliseconds before
-- p_told_at that its worker measured. Neither is before the claim or after p_now, whatever the worker's clock did.
-- A beginning less than 50 ms after the claim is not kept: nearly all jobs begin at once, and their rows stay as
-- they are. It has no SET clause and is a set, so that it is inlined: called for each job it took a fifth of a
-- settle with failures.
-- Locks: none.
-- Returns: one row. Without milliseconds the target began at the claim (target_ms null) and ended at p_told_at.
-- Called by: carillon.settle_parcel, carillon.settle_parcels, carillon.write_outcomes.
create or replace function carillon.own_times(p_claimed_at timestamptz, p_told_at timestamptz, p_now timestamptz, p_started_ms int, p_ended_ms int)
  returns table (target_ms int, ended_at timestamptz)
  language sql stable parallel safe
  as $$
    select case when p_started_ms is not null and least(t.began_at, t.ended_at) >= p_claimed_at + interval '50 milliseconds'
        then (extract(epoch from least(t.began_at, t.ended_at) - p_claimed_at) * 1000)::int end,
      t.ended_at
    from (
      select p_told_at - p_started_ms * interval '1 millisecond' as began_at,
        greatest(p_claimed_at, least(p_now, p_told_at - greatest(p_ended_ms, 0) * interval '1 millisecond')) as ended_at) t
  $$;
