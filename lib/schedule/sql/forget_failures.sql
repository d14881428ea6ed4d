-- Forgets the failures of these schedules after an edit that was made on purpose: their count of dead jobs in
-- a row starts at zero, and holds that a settle has asked for are no longer set.
-- Locks: the deleted rows. The edit has locked the schedules.
-- Returns: nothing.
-- Called by: forgetFailures in lib/edit/apply-edit.ts, for one edit and for edits of a batch.
create or replace function carillon.forget_failures(p_schedules bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    delete from carillon.failure_runs where schedule_id = any(p_schedules);
    delete from carillon.wanted_holds where schedule_id = any(p_schedules);
  $$;
