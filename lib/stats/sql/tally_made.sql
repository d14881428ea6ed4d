-- Counts a job where it is made. Waiting cadence jobs without a `ready_at`, nearly all jobs, are not counted
-- here: the statement that makes them writes one row for all (lib/plan/packed-jobs.ts).
-- Rare changes are counted by triggers, whatever statement makes them. All other rows pay only for the
-- condition of the trigger.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_tally_made, after insert on carillon.jobs, for each row that does not wait, has
-- another kind than cadence, or has a `ready_at`.
create or replace function carillon.tally_made() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, fired, skipped, missed)
  values (carillon.clock(), case when new.state = 'waiting' then 1 end,
    case when new.state = 'skipped' and new.reason <> 'missed' then 1 end, case when new.state = 'skipped' and new.reason = 'missed' then 1 end);
  return null;
end $$;
