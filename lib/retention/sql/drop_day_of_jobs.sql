-- Drops one day of jobs, with its attempts, jobs_beside, dead_jobs, error_groups, job_requests and parcel_times, if
-- carillon.past_days lists it without `to_look` and, with p_archived, the archive has all of it.
-- A drop takes the parent tables from all other transactions. If it waits for them, all later transactions
-- wait behind it. So it tries 20 times, 20 ms apart, for a moment in which no transaction has them. Others
-- wait only once, at the end: 50 ms for a lock, or 250 ms if the day could have been dropped the day before.
-- If a lock is not granted then either, it raises lock_not_available, and the caller tries again later.
-- Locks: the advisory lock of the days (class 3, see lib/db/locks.ts); then, access exclusive, the parent
-- tables jobs, attempts, jobs_beside, dead_jobs, error_groups, job_requests and parcel_times, and then the tables
-- of the day. Every read and write takes parents before days.
-- Returns: true if the day was dropped; false if it must stay.
-- Called by: dropJobDay in lib/retention/drop-days.ts.
create or replace function carillon.drop_day_of_jobs(p_day date, p_retention interval, p_archived boolean) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '50ms'
  as $$
declare
  v_last date := ((carillon.clock() - p_retention) at time zone 'UTC')::date - 1;
  v_tables text;
  v_locked text;
begin
  perform pg_advisory_xact_lock(3, 0);
  if not exists (select from carillon.past_days(p_retention) p where p.day = p_day and not p.to_look) or (p_archived and not carillon.is_archived(p_day)) then
    return false;
  end if;
  select string_agg(format('carillon.%I', t.name), ', ') into v_tables
  from (select parent || '_' || to_char(p_day, 'YYYYMMDD') as name
    from unnest(array['jobs', 'attempts', 'jobs_beside', 'dead_jobs', 'error_groups', 'job_requests', 'parcel_times']) parent) t
  where to_regclass('carillon.' || t.name) is not null;
  v_locked := 'lock table only carillon.jobs, only carillon.attempts, only carillon.jobs_beside, only carillon.dead_jobs, only carillon.error_groups, '
    || 'only carillon.job_requests, only carillon.parcel_times, '
    || v_tables || ' in access exclusive mode';
  for v_try in 1..20 loop
    begin
      execute v_locked || ' nowait';
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.02);
    end;
  end loop;
  -- A day that could have been dropped yesterday has found no such moment for a day: others wait a quarter of
  -- a second, once.
  if p_day < v_last then
    perform set_config('lock_timeout', '250ms', true);
  end if;
  execute v_locked;
  -- Nothing can be written under the lock. A write since carillon.past_days, such as a retry of a dead job,
  -- has left a row in stirred_days.
  if exists (select from carillon.stirred_days s where s.day = p_day and s.on_day > v_last) or (p_archived and not carillon.is_archived(p_day)) then
    return false;
  end if;
  execute 'drop table ' || v_tables;
  delete from carillon.stirred_days s where s.day = p_day;
  delete from carillon.looked_days l where l.day = p_day;
  update carillon.retention set kept_from = greatest(kept_from, (p_day + 1)::timestamp at time zone 'UTC');
  return true;
end $$;
