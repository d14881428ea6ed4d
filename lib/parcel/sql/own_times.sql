-- Tells when the target of a job began and ended, from the milliseconds before p_told_at that its worker measured.
-- Neither is before the claim or after p_now, whatever the worker's clock did. It has no SET clause, so that it
-- is inlined.
-- Locks: none.
-- Returns: one row. Without milliseconds the target began at the claim and ended at p_told_at.
-- Called by: carillon.write_outcomes, carillon.mark_succeeded.
create or replace function carillon.own_times(p_claimed_at timestamptz, p_told_at timestamptz, p_now timestamptz, p_started_ms int, p_ended_ms int)
  returns table (began_at timestamptz, ended_at timestamptz)
  language sql stable parallel safe
  as $$
    select least(b.began_at, b.ended_at), b.ended_at
    from (
      select greatest(p_claimed_at, p_told_at - p_started_ms * interval '1 millisecond') as began_at,
        greatest(p_claimed_at, least(p_now, p_told_at - greatest(p_ended_ms, 0) * interval '1 millisecond')) as ended_at) b
  $$;
