-- Counts a waiting job that becomes skipped or cancelled. Jobs that succeed or die are counted by their
-- settle, or where their lease ends.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_tally_ended, after update on carillon.jobs, for each row that waited and is now
-- skipped or cancelled.
create or replace function carillon.tally_ended() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped, cancelled)
  values (carillon.clock(), case when new.state = 'skipped' then 1 end, case when new.state = 'cancelled' then 1 end);
  return null;
end $$;
