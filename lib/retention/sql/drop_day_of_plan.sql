-- Drops one day of the plan, if carillon.past_plan_days lists it. It looks for a moment in which no
-- transaction has the plan, as carillon.drop_day_of_jobs does for jobs: 20 times, 20 ms apart, and at the end
-- it waits 50 ms for a lock. If that is not granted then either, it raises lock_not_available, and the caller
-- tries again later.
-- Locks: the advisory lock of the days (class 3, see lib/db/locks.ts); then, access exclusive, the plan and
-- the table of the day.
-- Returns: true if the day was dropped; false if it must stay.
-- Called by: dropPlanDay in lib/retention/drop-days.ts.
create or replace function carillon.drop_day_of_plan(p_day date) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '50ms'
  as $$
declare
  v_table text := format('carillon.%I', 'plan_' || to_char(p_day, 'YYYYMMDD'));
begin
  perform pg_advisory_xact_lock(3, 0);
  if not exists (select from carillon.past_plan_days() d where d = p_day) then
    return false;
  end if;
  for v_try in 1..20 loop
    begin
      execute 'lock table only carillon.plan, ' || v_table || ' in access exclusive mode nowait';
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.02);
    end;
  end loop;
  execute 'lock table only carillon.plan, ' || v_table || ' in access exclusive mode';
  execute 'drop table ' || v_table;
  return true;
end $$;
