-- Takes a range back from the count of skipped occurrences, when an edit deletes it to decide it again. A
-- purge deletes ranges for their age and takes nothing back: it has set carillon.purging.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger passed_over_tally_withdrawn, after delete on carillon.passed_over, for each row.
create or replace function carillon.tally_unpassed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if current_setting('carillon.purging', true) = 'on' then
    return null;
  end if;
  insert into carillon.tallies (at, skipped) values (carillon.clock(), -old.count);
  return null;
end $$;
