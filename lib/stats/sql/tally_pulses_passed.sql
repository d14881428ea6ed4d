-- Counts the seconds in which the pulses of a shard were passed over, whether a tick, a claim or a sweep
-- writes them. Rows with a count are left out: they are of pulses that a settle has tallied.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger pulses_passed_tally, after insert on carillon.pulses_passed, for each row without a
-- count.
create or replace function carillon.tally_pulses_passed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, pulse_seconds_passed)
  values (carillon.clock(), extract(epoch from new.to_at - new.from_at)::bigint + 1);
  return null;
end $$;
