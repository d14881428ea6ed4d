-- Takes deleted jobs back from the counts. Only edits delete jobs: those that were made ahead of their time,
-- or left out by a calendar, and are decided again. Old days are dropped as whole tables, which calls no
-- trigger.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_tally_withdrawn, after delete on carillon.jobs, for each statement.
create or replace function carillon.tally_withdrawn() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, fired, skipped)
  select carillon.clock(), -count(*) filter (where o.state = 'waiting'), -count(*) filter (where o.state = 'skipped') from old_jobs o having count(*) > 0;
  return null;
end $$;
