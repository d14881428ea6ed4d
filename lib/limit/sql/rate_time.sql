-- Says how long the next start at a target waits after p_jobs jobs have started together, by the target's
-- rate.
-- Locks: none.
-- Returns: the time; null for a target without a rate.
-- Called by: carillon.enter_target; carillon.direct_slots.
create or replace function carillon.rate_time(p_target carillon.targets, p_jobs int) returns interval
  language sql immutable parallel safe
  as $$ select p_jobs * p_target.rate_ms::float8 / p_target.rate_count * interval '1 millisecond' $$;
