-- Counts an attempt that failed or crashed.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger attempts_tally_failed, after insert on carillon.attempts, for each failed or crashed
-- attempt.
create or replace function carillon.tally_failed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, failed) values (carillon.clock(), 1);
  return null;
end $$;
