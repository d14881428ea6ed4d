-- carillon: back to 31
-- Each day is looked at, archived and dropped by itself, and tallies that cannot be added are left out by themselves: what fails keeps none behind it.

-- The days past the retention in which nothing is open, the oldest first, as in 0045; and whether all of a day's jobs have to be looked at before it may go.
-- No look is made here, nor at the one job that a look has found: whatever fails here, or waits for a lock, keeps all days.
create function carillon.past_days(p_retention interval) returns table (day date, to_look boolean)
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
    -- A day that was written counts from then on.
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

-- Planned for its values, a look locks the table of its own day alone.
alter function carillon.day_waits(date, boolean) set plan_cache_mode = force_custom_plan;

-- Reads all jobs of a day, unless that has been done, or has found one that still waits.
create function carillon.look_at_day(p_day date) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.day_waits(p_day, true);
end $$;

-- As the previous release calls it: it looks at one day itself.
create or replace function carillon.settled_days(p_retention interval) returns setof date
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_past record;
  v_waits boolean;
  v_may_look boolean := true;
begin
  for v_past in select p.day, p.to_look from carillon.past_days(p_retention) p order by p.day loop
    v_waits := case when v_past.to_look then carillon.day_waits(v_past.day, false) else false end;
    if v_waits is null then
      exit when not v_may_look;
      v_may_look := false;
      v_waits := carillon.day_waits(v_past.day, true);
    end if;
    continue when v_waits;
    return next v_past.day;
  end loop;
end $$;

-- Drops one day of jobs, with what belongs to it; false where it is not to go. A drop takes each parent from all other transactions, and one that waits
-- for it has all wait that come after it. So it looks for a moment in which no transaction has them, twenty times, and has others wait only once, at the
-- end, for a twentieth of a second, or a quarter for a day that has found no moment since yesterday. Parents before days, as every read and write
-- takes them.
create function carillon.drop_day_of_jobs(p_day date, p_retention interval, p_archived boolean) returns boolean
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
  from (select parent || '_' || to_char(p_day, 'YYYYMMDD') as name from unnest(array['jobs', 'attempts', 'jobs_beside', 'dead_jobs']) parent) t
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
  if p_day < v_last then
    perform set_config('lock_timeout', '250ms', true);
  end if;
  execute v_locked;
  -- Under the lock nothing is written: a write since that look, be it a retry of a dead job, is seen by what it stirred.
  if exists (select from carillon.stirred_days s where s.day = p_day and s.on_day > v_last) or (p_archived and not carillon.is_archived(p_day)) then
    return false;
  end if;
  execute 'drop table ' || v_tables;
  delete from carillon.stirred_days s where s.day = p_day;
  delete from carillon.looked_days l where l.day = p_day;
  update carillon.retention set kept_from = greatest(kept_from, (p_day + 1)::timestamp at time zone 'UTC');
  return true;
end $$;

-- As the previous release calls it: the oldest day that may go.
create or replace function carillon.drop_settled_day(p_retention interval, p_archived boolean) returns date
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '50ms'
  as $$
declare
  v_day date;
begin
  perform pg_advisory_xact_lock(3, 0);
  select d into v_day from carillon.settled_days(p_retention) d where not p_archived or carillon.is_archived(d) order by d limit 1;
  return case when v_day is not null and carillon.drop_day_of_jobs(v_day, p_retention, p_archived) then v_day end;
end $$;

-- The days of the plan that every watermark has left behind.
create function carillon.past_plan_days() returns setof date
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
    -- The watermark runs ahead of the clock: by itself it would let go of yesterday, which attaching still wants, before midnight. Compared as text: a
    -- condition is tried on names that are no days too, before it is known whose they are.
    where i.inhparent = 'carillon.plan'::regclass and right(c.relname, 8) < to_char((
      select least(carillon.clock(), min(least(s.watermark_at, s.near_until))) - interval '1 day' from carillon.shards s) at time zone 'UTC', 'YYYYMMDD')
  $$;

-- Drops one day of the plan in a moment in which no transaction has it, as a day of jobs goes; false where it is not to go.
create function carillon.drop_day_of_plan(p_day date) returns boolean
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

-- As the previous release calls it: all of them at once.
create or replace function carillon.drop_plan_days() returns text[]
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '50ms'
  as $$
declare
  v_day date;
  v_names text[] := '{}';
begin
  perform pg_advisory_xact_lock(3, 0);
  for v_day in select d from carillon.past_plan_days() d order by d loop
    if carillon.drop_day_of_plan(v_day) then
      v_names := v_names || ('plan_' || to_char(v_day, 'YYYYMMDD'));
    end if;
  end loop;
  return v_names;
end $$;

-- Adds these rows of carillon.schedule_tallies to the counts. What is locked or gone is left.
create function carillon.roll_up_schedules(p_rows tid[]) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as (
    delete from carillon.schedule_tallies t
    where t.ctid = any (array(select p.ctid from carillon.schedule_tallies p where p.ctid = any (p_rows) for update skip locked))
    returning t.schedules, t.held
  ), added as (
    update carillon.schedule_counts c set schedules = c.schedules + s.schedules, held = c.held + s.held, rolled_up_at = carillon.clock()
    from (select coalesce(sum(t.schedules), 0) as schedules, coalesce(sum(t.held), 0) as held from taken t) s
  )
  select count(*) into v_taken from taken;
  return v_taken;
end $$;

-- Adds these rows of carillon.tallies to their minutes, and returns what they tell.
create function carillon.roll_up_tallies(p_rows tid[])
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    with taken as (
      delete from carillon.tallies t
      where t.ctid = any (array(select p.ctid from carillon.tallies p where p.ctid = any (p_rows) for update skip locked))
      returning t.*
    ), counted as (
      insert into carillon.minutes as m (minute, fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost)
      select date_trunc('minute', t.at), coalesce(sum(t.fired), 0), coalesce(sum(t.succeeded), 0), coalesce(sum(t.failed), 0),
        coalesce(sum(t.dead), 0), coalesce(sum(t.cancelled), 0), coalesce(sum(t.skipped), 0), coalesce(sum(t.missed), 0),
        coalesce(sum(t.pulses), 0), coalesce(sum(t.pulses_lost), 0)
      from taken t group by 1 order by 1
      on conflict (minute) do update set fired = m.fired + excluded.fired, succeeded = m.succeeded + excluded.succeeded,
        failed = m.failed + excluded.failed, dead = m.dead + excluded.dead, cancelled = m.cancelled + excluded.cancelled,
        skipped = m.skipped + excluded.skipped, missed = m.missed + excluded.missed, pulses = m.pulses + excluded.pulses,
        pulses_lost = m.pulses_lost + excluded.pulses_lost
    ), placed as (
      insert into carillon.minute_lateness as m (minute, bucket, jobs)
      select date_trunc('minute', t.at), l.bucket, sum(l.jobs) from taken t cross join lateral unnest(t.late_buckets, t.late_jobs) l (bucket, jobs)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set jobs = m.jobs + excluded.jobs
    ), pulses_placed as (
      insert into carillon.minute_pulse_lateness as m (minute, bucket, pulses)
      select date_trunc('minute', t.at), l.bucket, sum(l.pulses) from taken t cross join lateral unnest(t.pulse_buckets, t.pulse_counts) l (bucket, pulses)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set pulses = m.pulses + excluded.pulses
    )
    select count(*)::int, coalesce(sum(t.fired), 0)::bigint, coalesce(sum(t.succeeded), 0)::bigint,
      coalesce(sum(t.failed), 0)::bigint, coalesce(sum(t.dead), 0)::bigint, coalesce(sum(t.cancelled), 0)::bigint,
      coalesce(sum(t.skipped), 0)::bigint, coalesce(sum(t.missed), 0)::bigint,
      coalesce(sum(t.pulses_lost), 0)::bigint, coalesce(sum(t.pulse_seconds_passed), 0)::bigint
    from taken t;
end $$;

-- Moves the cost of targets on by these rows of carillon.target_work, as in 0036.
create function carillon.roll_up_work_rows(p_rows tid[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as materialized (
    delete from carillon.target_work w
    where w.ctid = any (array(select p.ctid from carillon.target_work p where p.ctid = any (p_rows) for update skip locked))
    returning w.target_id, w.jobs, w.ms
  ), worked as materialized (
    select t.target_id, sum(t.jobs) as jobs, sum(t.ms) / sum(t.jobs) as cost_ms from taken t group by t.target_id
  ), free as materialized (
    select t.id from carillon.targets t where t.id in (select w.target_id from worked w) order by t.id for update skip locked
  ), moved as (
    update carillon.targets t set cost_ms = coalesce(t.cost_ms + (w.cost_ms - t.cost_ms) * w.jobs / (w.jobs + 100), w.cost_ms)
    from worked w join free f on f.id = w.target_id where t.id = w.target_id
  )
  select count(*) into v_taken from taken;
  return v_taken;
end $$;

-- As in 0035, by the functions above.
create or replace function carillon.roll_up(p_max int)
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_schedules int := carillon.roll_up_schedules(array(select p.ctid from carillon.schedule_tallies p limit p_max for update skip locked));
begin
  return query
    select greatest(v_schedules, r.taken), r.fired, r.succeeded, r.failed, r.dead, r.cancelled, r.skipped, r.missed, r.pulses_lost, r.pulse_seconds_passed
    from carillon.roll_up_tallies(array(select p.ctid from carillon.tallies p limit p_max for update skip locked)) r;
end $$;

create or replace function carillon.roll_up_work(p_max int) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return carillon.roll_up_work_rows(array(select p.ctid from carillon.target_work p limit p_max for update skip locked));
end $$;

revoke execute on function carillon.past_days(interval), carillon.look_at_day(date), carillon.drop_day_of_jobs(date, interval, boolean),
  carillon.past_plan_days(), carillon.drop_day_of_plan(date), carillon.roll_up_schedules(tid[]), carillon.roll_up_tallies(tid[]),
  carillon.roll_up_work_rows(tid[]) from public;
grant execute on function carillon.past_days(interval), carillon.look_at_day(date) to carillon_tick, carillon_archive;
grant execute on function carillon.drop_day_of_jobs(date, interval, boolean), carillon.past_plan_days(), carillon.drop_day_of_plan(date),
  carillon.roll_up_schedules(tid[]), carillon.roll_up_tallies(tid[]), carillon.roll_up_work_rows(tid[]) to carillon_tick;
grant select on carillon.target_work to carillon_tick;
-- safe: a grant writes no row.
grant select, insert, update, delete on carillon.quarantine to carillon_archive;
