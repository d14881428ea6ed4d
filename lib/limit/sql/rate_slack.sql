-- Says by how much a start at a rate may miss its time without effect: a quarter of the time that its jobs
-- take at this rate, one second at most. Messages do not come to the millisecond.
-- Locks: none.
-- Returns: the time.
-- Called by: carillon.enter_target, for a start that comes late; carillon.direct_slots, for the next start.
create or replace function carillon.rate_slack(p_time interval) returns interval
  language sql immutable parallel safe
  as $$ select least(p_time / 4, interval '1 second') $$;
