-- Notes that a pulse may have jobs, because one is made by hand: its edits have to wait for claims from now
-- on.
-- Locks: the row of the pulse, if it changes. The caller holds the row of the schedule.
-- Returns: nothing.
-- Called by: makeJob in lib/job-control/fire-now.ts.
create or replace function carillon.note_jobs_of_pulse(p_schedule bigint) returns void
  language sql security definer
  set search_path = pg_catalog, pg_temp
  begin atomic
  update carillon.pulses set may_have_jobs = true where schedule_id = p_schedule and not may_have_jobs;
end;
