-- Attaches the missing tables of each day from p_from to p_to: one each for the plan, jobs, attempts,
-- jobs_beside, dead_jobs, error_groups, job_requests and parcel_times. Tables that exist are left alone. Autovacuum gets its settings for the day from
-- carillon.day_settings.
-- Locks: the advisory lock of the days (class 3, see lib/db/locks.ts); then, in the order of the days, each
-- parent table as `attach partition` does. Waits at most 2 s for each of them.
-- Returns: the number of tables that were made.
-- Called by: attachDay in lib/tick/days.ts, with one day; carillon.attach_missing_days.
create or replace function carillon.attach_days(p_from date, p_to date) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '2s'
  as $$
declare
  v_day date;
  v_parent text;
  v_name text;
  v_made int := 0;
begin
  -- Two transactions that attach the same day take turns, and the second finds the tables there.
  perform pg_advisory_xact_lock(3, 0);
  for v_day in select generate_series(p_from, p_to, interval '1 day')::date loop
    foreach v_parent in array array['plan', 'jobs', 'attempts', 'jobs_beside', 'dead_jobs', 'error_groups', 'job_requests', 'parcel_times'] loop
      v_name := v_parent || '_' || to_char(v_day, 'YYYYMMDD');
      continue when to_regclass('carillon.' || v_name) is not null;
      -- Made apart and attached: that takes a weaker lock on the parent than `create table … partition of`.
      execute format('create table carillon.%I (like carillon.%I including defaults including constraints) with (%s)', v_name, v_parent,
        carillon.day_settings(v_parent));
      execute format('alter table carillon.%I attach partition carillon.%I for values from (%L) to (%L)', v_parent, v_name,
        v_day::text || ' 00:00:00+00', (v_day + 1)::text || ' 00:00:00+00');
      v_made := v_made + 1;
    end loop;
  end loop;
  return v_made;
end $$;
