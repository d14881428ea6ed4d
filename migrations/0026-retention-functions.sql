-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

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

-- Gives the storage settings for one day of a parent table, as `create table … with` takes them.
-- Locks: none.
-- Returns: the settings as text.
-- Called by: carillon.attach_days.
create or replace function carillon.day_settings(p_parent text) returns text
  language sql immutable
  as $$
    select case p_parent
      -- A settle updates a job once, in place: the free room keeps that update out of the index. The dead row
      -- is removed by the next statement that comes to the page. Vacuum comes when half of the rows are dead
      -- or new, and freezes the rows, since a day lives for weeks.
      when 'jobs' then 'fillfactor = 50, autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_vacuum_scale_factor = 0.5, autovacuum_freeze_min_age = 0'
      -- Rows are inserted, read once and dropped within days: none is ever dead or worth freezing.
      when 'plan' then 'fillfactor = 100, autovacuum_vacuum_insert_threshold = -1'
      else 'fillfactor = 100' end
  $$;

-- Tells whether a job of this day waits, by the result of the last look at the day. That result holds while
-- the waiting job that it found still waits, or, if it found none, until a write to the day on the date of
-- the look or later. Otherwise, with p_look, the jobs of the day are read until one is found that waits, and
-- the result is kept in looked_days.
-- No index leads to waiting jobs: each settle would have to write to it.
-- Locks: the row of the day in looked_days, after a look.
-- Returns: whether a job waits; null if only a look could tell and p_look is false.
-- Called by: carillon.look_at_day, with p_look.
create or replace function carillon.day_waits(p_day date, p_look boolean) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = on set plan_cache_mode = force_custom_plan
  as $$
declare
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_found carillon.looked_days;
begin
  select l.* into v_found from carillon.looked_days l where l.day = p_day;
  if v_found.occurrence is not null then
    if exists (select from carillon.jobs j where j.occurrence = v_found.occurrence and j.schedule_id = v_found.schedule_id and j.kind = v_found.kind
               and j.n = v_found.n and j.state = 'waiting') then
      return true;
    end if;
  elsif v_found.day is not null
    and not exists (select from carillon.stirred_days s where s.day = p_day and s.on_day >= v_found.looked_on) then
    return false;
  end if;
  if not p_look then return null; end if;
  -- The instants stand in the text, so that only the table of this day is planned and locked.
  execute format('select j.occurrence, j.schedule_id, j.kind, j.n from carillon.jobs j
    where j.occurrence >= %L and j.occurrence < %L and j.state = ''waiting'' limit 1', v_from, v_from + interval '1 day')
  into v_found.occurrence, v_found.schedule_id, v_found.kind, v_found.n;
  insert into carillon.looked_days as l (day, looked_on, occurrence, schedule_id, kind, n)
  values (p_day, (carillon.clock() at time zone 'UTC')::date, v_found.occurrence, v_found.schedule_id, v_found.kind, v_found.n)
  on conflict (day) do update set looked_on = excluded.looked_on, occurrence = excluded.occurrence, schedule_id = excluded.schedule_id,
    kind = excluded.kind, n = excluded.n;
  return v_found.occurrence is not null;
end $$;

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

-- Deletes those of the given audit entries that are older than p_before. An entry of the last 30 days is
-- never deleted, whatever the caller asks: the tick must not be able to hide an action.
-- Locks: the deleted rows.
-- Returns: the number of deleted entries.
-- Called by: forgetAudit in lib/retention/forget-audit.ts.
create or replace function carillon.forget_audit(p_ats timestamptz[], p_ids bigint[], p_before timestamptz) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_gone int;
begin
  delete from carillon.audit a using unnest(p_ats, p_ids) o (at, id)
  where a.at = o.at and a.id = o.id and a.at < least(p_before, carillon.clock() - interval '30 days');
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

-- Tells whether the archive has all of this day: it is finished, and the day was not written to on the date
-- on which the archive began to read, or later.
-- Locks: none.
-- Returns: whether the archive has all of the day.
-- Called by: carillon.drop_day_of_jobs; jobDays in lib/retention/drop-days.ts; archiveLagMs in
-- lib/retention/archive-lag.ts; daysToArchive in lib/archive/archived-day.ts.
create or replace function carillon.is_archived(p_day date) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.archived_days a where a.day = p_day and a.archived_at is not null
      and not exists (select from carillon.stirred_days s where s.day = p_day and s.on_day >= (a.begun_at at time zone 'UTC')::date))
  $$;

-- Reads the jobs of a day until one is found that waits, and keeps the result for carillon.past_days. Reads
-- nothing if the result of the last look still holds.
-- Locks: the row of the day in looked_days, if the day is read.
-- Returns: nothing.
-- Called by: lookAtDays in lib/retention/past-days.ts.
create or replace function carillon.look_at_day(p_day date) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.day_waits(p_day, true);
end $$;

-- Notes that these live schedules are over, for the purge. A schedule that was noted before keeps its time,
-- unless its version has changed since.
-- Locks: the rows in over_schedules.
-- Returns: nothing.
-- Called by: carillon.purge_schedules, for schedules that have fired max_fires times; noteSome in
-- lib/retention/purge.ts, for schedules whose cadence has no next occurrence.
create or replace function carillon.note_over(p_ids bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.over_schedules as e (schedule_id, version, since)
    select s.id, s.version, carillon.clock() from carillon.schedules s where s.id = any(p_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity'
    on conflict (schedule_id) do update set version = excluded.version, since = excluded.since where e.version <> excluded.version
  $$;

-- Notes that a day of jobs that is long over was written today. The day is then kept as if it were of today,
-- and earlier looks and archives of it are void.
-- Nearly every job is made and settled within a day of its occurrence, and pays only for the condition of the
-- trigger. The condition asks Postgres's own clock, which costs a hundredth of carillon.clock(). Two writes
-- at once may note the same row twice, so that neither waits for the other.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_stirred, after insert or update on carillon.jobs, for each row whose occurrence is
-- more than 24 hours old.
create or replace function carillon.note_stirred() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_day date := (new.occurrence at time zone 'UTC')::date;
  v_today date := (carillon.clock() at time zone 'UTC')::date;
begin
  if v_day < v_today - 1 and not exists (select from carillon.stirred_days d where d.day = v_day and d.on_day = v_today) then
    insert into carillon.stirred_days (day, on_day) values (v_day, v_today);
  end if;
  return null;
end $$;

-- Moves the purge past the next schedule, after a step over this schedule alone has failed. At the beginning
-- of a round it first runs a step over no schedule. That step notes when the round began and deletes old rows
-- of pulses_passed: the failed step has undone both.
-- Locks: the row of carillon.purges; none if another tick has it.
-- Returns: the id of the schedule; null if there is none, or if another tick purges.
-- Called by: passOne in lib/retention/purge.ts.
create or replace function carillon.pass_purge(p_retention interval) returns bigint
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_place bigint;
begin
  select p.place into v_place from carillon.purges p for update skip locked;
  if v_place is null then
    return null;
  end if;
  if v_place = 0 then
    perform carillon.purge_schedules(p_retention, 0);
  end if;
  update carillon.purges p set place = n.id
  from (select min(s.id) as id from carillon.schedules s where s.id > v_place) n where n.id is not null
  returning n.id into v_place;
  return case when found then v_place end;
end $$;

-- Lists the days of jobs that are older than the retention and in which nothing is open: no parcel has a job
-- of the day, the day was not written to within the retention, and every shard has left it behind by a day. A
-- parcel that keeps a day is remembered in open_days, so that the next call does not search all parcels.
-- It reads no jobs, not even the one that an earlier look has found. A failure or a locked row would keep all
-- days.
-- Locks: only the rows that it writes in looked_days and open_days.
-- Returns: one row for each day, the oldest first. `to_look`: carillon.look_at_day has to look at the jobs of
-- the day before it may be dropped.
-- Called by: carillon.drop_day_of_jobs; jobDays in lib/retention/drop-days.ts; lookAtDays in
-- lib/retention/past-days.ts; archiveLagMs in lib/retention/archive-lag.ts; daysToArchive in
-- lib/archive/archived-day.ts.
create or replace function carillon.past_days(p_retention interval) returns table (day date, to_look boolean)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_day date;
  v_from timestamptz;
  v_parcel bigint;
  v_last date := ((carillon.clock() - p_retention) at time zone 'UTC')::date - 1;
  v_planned date := (select (min(s.watermark_at) at time zone 'UTC' - interval '1 day')::date from carillon.shards s);
begin
  delete from carillon.looked_days l
  where not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'carillon.jobs'::regclass and right(c.relname, 8) = to_char(l.day, 'YYYYMMDD'));
  for v_day in select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent = 'carillon.jobs'::regclass order by 1 loop
    exit when v_day > v_last or v_day >= v_planned;
    -- The retention of a day counts from the last write to it.
    continue when exists (select from carillon.stirred_days s where s.day = v_day and s.on_day > v_last);
    v_from := v_day::timestamp at time zone 'UTC';
    continue when exists (
      select from carillon.open_days d join carillon.parcels p on p.id = d.parcel_id
      where d.day = v_day and exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day'));
    select p.id into v_parcel from carillon.parcels p
    where exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day') limit 1;
    if v_parcel is null then
      delete from carillon.open_days o where o.day = v_day;
      day := v_day;
      to_look := not exists (
        select from carillon.looked_days l where l.day = v_day and l.occurrence is null
          and not exists (select from carillon.stirred_days s where s.day = v_day and s.on_day >= l.looked_on));
      return next;
    else
      insert into carillon.open_days (day, parcel_id) values (v_day, v_parcel)
      on conflict (day) do update set parcel_id = excluded.parcel_id;
    end if;
  end loop;
end $$;

-- Lists the days of the plan that may be dropped: every shard has left them behind by a day, with its
-- watermark and with the end of its near plan (near_until), and so has the clock.
-- Locks: none.
-- Returns: the days.
-- Called by: carillon.drop_day_of_plan; planDays in lib/retention/drop-days.ts.
create or replace function carillon.past_plan_days() returns setof date
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
    -- The watermark runs ahead of the clock: by itself it would drop yesterday before midnight, which
    -- attaching still needs. Compared as text: the condition is also tried on names of other relations, which
    -- end in no day.
    where i.inhparent = 'carillon.plan'::regclass and right(c.relname, 8) < to_char((
      select least(carillon.clock(), min(least(s.watermark_at, s.near_until))) - interval '1 day' from carillon.shards s) at time zone 'UTC', 'YYYYMMDD')
  $$;

-- Deletes these schedules with their tags, holds, versions, ranges passed over, failures, wanted holds and
-- pulses. The audit stays. The counts of skipped occurrences stay too: carillon.tally_unpassed sees the
-- setting carillon.purging.
-- Locks: the deleted rows. The caller has locked the schedules.
-- Returns: the number of deleted schedules.
-- Called by: carillon.purge_schedules.
create or replace function carillon.purge_listed(p_ids bigint[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_gone int;
begin
  if coalesce(cardinality(p_ids), 0) = 0 then
    return 0;
  end if;
  -- Not as a setting of the function: an owner that is no superuser may not give it one.
  perform set_config('carillon.purging', 'on', true);
  delete from carillon.schedule_tags t using carillon.schedules s
  where s.id = any(p_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity' and t.key = s.key and t.tag = any(s.tags collate "C");
  delete from carillon.holds h where h.schedule_id = any(p_ids);
  delete from carillon.schedule_versions v where v.schedule_id = any(p_ids);
  delete from carillon.passed_over o where o.schedule_id = any(p_ids);
  delete from carillon.failure_runs f where f.schedule_id = any(p_ids);
  delete from carillon.wanted_holds w where w.schedule_id = any(p_ids);
  delete from carillon.pulses u where u.schedule_id = any(p_ids);
  delete from carillon.over_schedules e where e.schedule_id = any(p_ids);
  delete from carillon.schedules s where s.id = any(p_ids);
  get diagnostics v_gone = row_count;
  perform set_config('carillon.purging', '', true);
  return v_gone;
end $$;

-- One step of the purge: looks at the next p_looked schedules by id, and deletes those that are over. A
-- schedule is over if it was deleted, or was due and edited for the last time, longer ago than the retention
-- and a day.
-- A schedule stays while a day exists on which it may have had a job, and while it has jobs beside its
-- cadence, backlog, or a parcel that waits for a hold. Unless it was deleted, it also stays while it is held,
-- or while its plan is in quarantine: its last run is owed until it can be planned, or a caller deletes the
-- schedule.
-- The step also deletes ranges passed over that are older than the retention, and notes schedules that have
-- fired max_fires times. The first step of a round deletes old rows of pulses_passed. A round begins an hour
-- after the last one began, at the earliest.
-- Locks: the row of carillon.purges; none if another tick has it. Then the schedules to be deleted; locked
-- ones are passed over.
-- Returns: one row: how many schedules were looked at and deleted, and the `doubtful`. These, up to 200, have
-- a cadence that names years and may have no next occurrence: the caller reads it and calls
-- carillon.note_over. No row if a round is over and the next has not begun, if another tick purges, or if a
-- shard lags by more than an hour.
-- Called by: stepOnce in lib/retention/purge.ts; carillon.pass_purge, with p_looked = 0.
create or replace function carillon.purge_schedules(p_retention interval, p_looked int)
  returns table (looked int, gone int, doubtful bigint[])
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_purge carillon.purges;
  v_now timestamptz := carillon.clock();
  v_days date := ((v_now - p_retention) at time zone 'UTC')::date;
  v_before timestamptz := (v_days - 1)::timestamp at time zone 'UTC';
  v_old tstzrange[];
  v_last bigint;
  v_gone bigint[];
begin
  select p.* into v_purge from carillon.purges p for update skip locked;
  if not found or (v_purge.place = 0 and v_purge.round_at > v_now - interval '1 hour') then
    return;
  end if;
  -- Occurrences that the ticks lag behind with have not happened yet.
  if (select min(h.watermark_at) from carillon.shards h) < v_now - interval '1 hour' then
    return;
  end if;
  if v_purge.place = 0 then
    update carillon.purges set round_at = v_now;
    delete from carillon.pulses_passed u where u.noted_at < v_before;
  end if;
  select coalesce(array_agg(tstzrange(d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC')), '{}') into v_old
  from (select to_date(right(c.relname, 8), 'YYYYMMDD') as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'carillon.jobs'::regclass and right(c.relname, 8) < to_char(v_days, 'YYYYMMDD')) d;
  select max(w.id), count(*)::int into v_last, looked
  from (select s.id from carillon.schedules s where s.id > v_purge.place order by s.id limit p_looked) w;
  if looked = 0 then
    update carillon.purges set place = 0;
    return;
  end if;
  v_gone := array(
    select s.id from carillon.schedules s
    left join carillon.schedule_versions v on s.deleted_at is null and v.schedule_id = s.id and v.version = s.spec_version
    left join carillon.over_schedules e on s.deleted_at is null and e.schedule_id = s.id and e.version = s.version and coalesce(s.fires >= s.max_fires, true)
    cross join lateral (select coalesce(v.once_at, v.ends_at, e.since) as ended_at) w
    cross join lateral (select coalesce(s.deleted_at, greatest(s.updated_at, w.ended_at)) as over_at) o
    where s.id > v_purge.place and s.id <= v_last and s.updated_at < v_before and o.over_at < v_before
      and (s.deleted_at is not null or (s.held_since is null and w.ended_at is not null
        and not exists (select from carillon.quarantine q where q.consumer = 'plan' and q.item = s.id::text)))
      and not exists (select from unnest(v_old) d where d && tstzrange(s.created_at, o.over_at, '[]'))
      and not exists (select from carillon.jobs_beside b where b.schedule_id = s.id)
      and not exists (select from carillon.backlog b where b.schedule_id = s.id)
      and not exists (select from carillon.parcels p where p.held_schedule = s.id)
    for update of s skip locked);
  gone := carillon.purge_listed(v_gone);
  -- Also of schedules that stay: these ranges are older than the retention.
  perform set_config('carillon.purging', 'on', true);
  delete from carillon.passed_over o where o.schedule_id > v_purge.place and o.schedule_id <= v_last and o.to_at < v_before and o.noted_at < v_before;
  perform set_config('carillon.purging', '', true);
  perform carillon.note_over(array(
    select s.id from carillon.schedules s
    where s.id > v_purge.place and s.id <= v_last and coalesce(s.deleted_at, 'infinity') = 'infinity' and s.fires >= s.max_fires));
  doubtful := array(
    select s.id from carillon.schedules s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    join carillon.cadences c on c.id = v.cadence_id
    where s.id > v_purge.place and s.id <= v_last and s.updated_at < v_now - interval '1 day' and coalesce(s.deleted_at, 'infinity') = 'infinity' and v.ends_at is null
      and c.expression ~ '\m[12][0-9]{3}\M' and c.expression !~ '\mevery '
      and not exists (select from carillon.over_schedules e where e.schedule_id = s.id and e.version = s.version)
    order by s.id limit 200);
  if cardinality(doubtful) = 200 then
    v_last := doubtful[200];
  end if;
  update carillon.purges set place = v_last;
  return next;
end $$;
