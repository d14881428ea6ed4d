-- Counts the occurrences of a range that was passed over: as missed if that is the reason, otherwise as
-- skipped.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger passed_over_tally, after insert on carillon.passed_over, for each row.
create or replace function carillon.tally_passed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped, missed)
  values (carillon.clock(), case when new.reason <> 'missed' then new.count end, case when new.reason = 'missed' then new.count end);
  return null;
end $$;
