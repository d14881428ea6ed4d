-- Retention: a day of jobs goes when the newest that was written in it is older than the retention and nothing of it is open, in a
-- moment in which nobody has to wait; what an archive is to have goes only when it is there; and with the days go the schedules that
-- have ended or were deleted, and what was written about them.
-- carillon: back to 31

-- On which days somebody wrote to the jobs of a day that was long over: settled one late, tried one again, made one for a time past. Few
-- rows, since a second one of a day and a day says nothing new; two at once may write it twice, so that nobody waits for anybody.
create table carillon.stirred_days (
  day date not null,
  on_day date not null
);

-- Read by whoever stirs, and where a day is to go.
create index stirred_days_day on carillon.stirred_days (day, on_day);

create function carillon.note_stirred() returns trigger
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

-- Nearly every job is made and settled within a day of its occurrence: the condition is all that it pays, and it asks Postgres's own clock,
-- which costs a hundredth of what carillon.clock() does.
-- safe: it writes beside what the previous release writes, and refuses nothing
create trigger jobs_stirred after insert or update on carillon.jobs for each row
  when (new.occurrence < transaction_timestamp() - interval '24 hours')
  execute function carillon.note_stirred();

-- Why a day that is past the retention is kept: a parcel that waits with one of its jobs. While it does, nobody searches the parcels.
create table carillon.open_days (
  day date primary key,
  parcel_id bigint not null
);

-- How far a day's way into the archive has come. The row stays when the day has gone.
create table carillon.archived_days (
  day date primary key,
  -- Who archives it at this moment, and until when; the fence rises with each who begins.
  fence int not null default 0,
  lease_until timestamptz(3),
  -- Since when what is there was read: what is stirred on that day or later is not in it.
  begun_at timestamptz(3),
  -- The last job that is there, and how many parts, jobs and attempts that makes.
  occurrence timestamptz(3),
  schedule_id bigint,
  kind carillon.job_kind,
  n int,
  parts int not null default 0,
  jobs bigint not null default 0,
  attempts bigint not null default 0,
  -- So many parts there have been at most: a later archive of the day that needs fewer empties the others.
  parts_max int not null default 0,
  archived_at timestamptz(3)
);

-- The days past the retention in which nothing is open and nobody has written within it, the oldest first. No lock but those of reading:
-- what changes meanwhile is found by whoever asks again.
create function carillon.settled_days(p_retention interval) returns setof date
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_day date;
  v_from timestamptz;
  v_parcel bigint;
  v_last date := ((carillon.clock() - p_retention) at time zone 'UTC')::date - 1;
begin
  for v_day in select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent = 'carillon.jobs'::regclass order by 1 loop
    exit when v_day > v_last;
    -- A day in which somebody has written counts from then on.
    continue when exists (select from carillon.stirred_days s where s.day = v_day and s.on_day > v_last);
    v_from := v_day::timestamp at time zone 'UTC';
    continue when exists (
      select from carillon.open_days d join carillon.parcels p on p.id = d.parcel_id
      where d.day = v_day and exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day'));
    select p.id into v_parcel from carillon.parcels p
    where exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day') limit 1;
    if v_parcel is null then
      delete from carillon.open_days o where o.day = v_day;
      return next v_day;
    else
      insert into carillon.open_days (day, parcel_id) values (v_day, v_parcel)
      on conflict (day) do update set parcel_id = excluded.parcel_id;
    end if;
  end loop;
end $$;

-- Whether the archive has all of this day.
create function carillon.is_archived(p_day date) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.archived_days a where a.day = p_day and a.archived_at is not null
      and not exists (select from carillon.stirred_days s where s.day = p_day and s.on_day >= (a.begun_at at time zone 'UTC')::date))
  $$;

-- Drops one day of jobs, with what belongs to it, and says which; null where none is to go. A drop takes each parent from everybody, and
-- who waits for that has everybody wait who comes after it. So it looks for a moment in which nobody has them, again and again, and has
-- others wait only once, at the end, for a twentieth of a second, or a quarter for a day that has found no moment since yesterday. Parents
-- before days, as whoever reads and writes takes them.
create function carillon.drop_settled_day(p_retention interval, p_archived boolean) returns date
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '50ms'
  as $$
declare
  v_day date;
  v_last date := ((carillon.clock() - p_retention) at time zone 'UTC')::date - 1;
  v_tables text;
  v_locked text;
begin
  perform pg_advisory_xact_lock(3, 0);
  select d into v_day from carillon.settled_days(p_retention) d where not p_archived or carillon.is_archived(d) order by d limit 1;
  if v_day is null then
    return null;
  end if;
  select string_agg(format('carillon.%I', t.name), ', ') into v_tables
  from (select parent || '_' || to_char(v_day, 'YYYYMMDD') as name from unnest(array['jobs', 'attempts', 'jobs_beside', 'dead_jobs']) parent) t
  where to_regclass('carillon.' || t.name) is not null;
  v_locked := 'lock table only carillon.jobs, only carillon.attempts, only carillon.jobs_beside, only carillon.dead_jobs, '
    || v_tables || ' in access exclusive mode';
  for v_try in 1..20 loop
    begin
      execute v_locked || ' nowait';
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.02);
    end;
  end loop;
  -- A day that could have gone yesterday has found no such moment for a day: then others wait a quarter of a second once.
  if v_day < v_last then
    perform set_config('lock_timeout', '250ms', true);
  end if;
  execute v_locked;
  -- Under the lock nobody writes: whoever has since that look, be it to bring a dead job back to life, is seen by what it stirred.
  if exists (select from carillon.stirred_days s where s.day = v_day and s.on_day > v_last) or (p_archived and not carillon.is_archived(v_day)) then
    return null;
  end if;
  execute 'drop table ' || v_tables;
  delete from carillon.stirred_days s where s.day = v_day;
  update carillon.retention set kept_from = greatest(kept_from, (v_day + 1)::timestamp at time zone 'UTC');
  return v_day;
end $$;

-- As the previous release's tick calls it, which knows no archive: where there is one, nothing goes without it.
create or replace function carillon.drop_job_day(p_retention interval) returns text
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select 'jobs_' || to_char(carillon.drop_settled_day(p_retention, exists (select from carillon.archived_days)), 'YYYYMMDD')
  $$;

-- As in 0007, in a moment in which nobody has the plan.
create or replace function carillon.drop_plan_days() returns text[]
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '50ms'
  as $$
declare
  v_names text[];
  v_name text;
  v_before timestamptz;
begin
  perform pg_advisory_xact_lock(3, 0);
  -- The watermark runs ahead of the clock: by itself it would let go of yesterday, which attaching still wants, before midnight.
  select least(carillon.clock(), min(least(watermark_at, near_until))) - interval '1 day' into v_before from carillon.shards;
  select coalesce(array_agg(c.relname order by c.relname), '{}') into v_names from pg_inherits i join pg_class c on c.oid = i.inhrelid
  -- Compared as text: a condition is tried on names that are no days too, before it is known whose they are.
  where i.inhparent = 'carillon.plan'::regclass and right(c.relname, 8) < to_char(v_before at time zone 'UTC', 'YYYYMMDD');
  if v_names = '{}' then
    return v_names;
  end if;
  for v_try in 1..20 loop
    begin
      lock table only carillon.plan in access exclusive mode nowait;
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.02);
    end;
  end loop;
  lock table only carillon.plan in access exclusive mode;
  foreach v_name in array v_names loop
    execute format('drop table carillon.%I', v_name);
  end loop;
  return v_names;
end $$;

-- A hand that goes round all schedules by their ids, some at each tick, and lets go of those that are over: so nothing is written where a
-- schedule is made or edited, and a tick does as much whether there are many or few.
create table carillon.purges (
  id boolean primary key default true,
  -- The last id it has looked at; 0 before a round.
  place bigint not null default 0,
  round_at timestamptz(3),
  constraint purges_has_one_row check (id)
);

insert into carillon.purges default values;

-- Since when the hand knows of schedules that they are over, where neither a time in them nor arithmetic tells: those that have fired as
-- often as they were to, and times that were listed one by one. By an edit it is no longer so.
create table carillon.over_schedules (
  schedule_id bigint primary key,
  version int not null,
  since timestamptz(3) not null
);

-- As in 0030, but for what goes by its age, which takes nothing back.
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

-- These schedules and all that is written about them, but the audit. Whoever calls it has them locked.
create function carillon.purge_listed(p_ids bigint[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_gone int;
begin
  if coalesce(cardinality(p_ids), 0) = 0 then
    return 0;
  end if;
  -- Not as a setting of the function, which an owner who is no superuser may not give it.
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

-- From now on the hand knows of these that they are over; of which it knew already, it knows since when.
create function carillon.note_over(p_ids bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.over_schedules as e (schedule_id, version, since)
    select s.id, s.version, carillon.clock() from carillon.schedules s where s.id = any(p_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity'
    on conflict (schedule_id) do update set version = excluded.version, since = excluded.since where e.version <> excluded.version
  $$;

-- Looks at the next p_looked schedules. One goes when it was deleted, or was due for the last time, longer ago than the retention and a
-- day, when every day is gone on which it may have had a job, and when nothing of it waits anywhere. `doubtful` are those that may be over
-- by what their times are: who can read them says so by carillon.note_over. No row where a round is over and the next has not begun.
create function carillon.purge_schedules(p_retention interval, p_looked int)
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
  -- What the ticks lag behind with has not happened yet.
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
      and (s.deleted_at is not null or (s.held_since is null and w.ended_at is not null))
      and not exists (select from unnest(v_old) d where d && tstzrange(s.created_at, o.over_at, '[]'))
      and not exists (select from carillon.jobs_beside b where b.schedule_id = s.id)
      and not exists (select from carillon.backlog b where b.schedule_id = s.id)
      and not exists (select from carillon.parcels p where p.held_schedule = s.id)
    for update of s skip locked);
  gone := carillon.purge_listed(v_gone);
  -- Of schedules that stay, too: what they passed over that long ago is older than any job of theirs.
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

-- Forgets the oldest of the audit, up to p_max entries, and none of the last thirty days whatever it is asked: who did what is not the tick's to hide.
-- They lie in the order in which they were written, so that only the first are looked at.
create function carillon.purge_audit(p_before timestamptz, p_max int) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_gone int;
begin
  delete from carillon.audit a
  where a.id = any (array(select o.id from carillon.audit o order by o.id limit p_max)) and a.at < least(p_before, carillon.clock() - interval '30 days');
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

-- Of the archive: it reads what it archives and writes how far it has come.
do $$
begin
  begin
    create role carillon_archive nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  execute format('alter role carillon_archive in database %I set jit = off', current_database());
  execute format('alter role carillon_archive in database %I set lock_timeout = %L', current_database(), '5s');
  execute format('alter role carillon_archive in database %I set statement_timeout = %L', current_database(), '10s');
  execute format('alter role carillon_archive in database %I set idle_in_transaction_session_timeout = %L', current_database(), '10s');
end $$;

revoke execute on function carillon.note_stirred(), carillon.settled_days(interval),
  carillon.is_archived(date), carillon.drop_settled_day(interval, boolean), carillon.purge_listed(bigint[]),
  carillon.note_over(bigint[]), carillon.purge_schedules(interval, int), carillon.purge_audit(timestamptz, int) from public;
grant execute on function carillon.drop_settled_day(interval, boolean), carillon.purge_schedules(interval, int), carillon.note_over(bigint[]),
  carillon.purge_audit(timestamptz, int), carillon.settled_days(interval), carillon.is_archived(date) to carillon_tick;
grant select on carillon.archived_days, carillon.stirred_days to carillon_tick;
grant usage on schema carillon to carillon_archive;
grant execute on function carillon.clock(), carillon.settled_days(interval), carillon.is_archived(date) to carillon_archive;
grant select on carillon.jobs, carillon.attempts, carillon.schedules, carillon.targets, carillon.migrations to carillon_archive;
grant select, insert, update on carillon.archived_days to carillon_archive;
grant select on carillon.stirred_days to carillon_archive;
