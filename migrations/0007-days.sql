-- Days: the partitions of plan, jobs and attempts. Attached when needed and dropped when past, by functions that run
-- with their owner's rights, so that the tick's role owns nothing. Both give up after a short wait for a lock: the
-- next minute tries again, and nobody queues behind them.

create function carillon.attach_days(p_from date, p_to date) returns int
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
  -- Two ticks that attach the same day take turns; the second finds it there. (Class 3: see lib/db/locks.ts.)
  perform pg_advisory_xact_lock(3, 0);
  for v_day in select generate_series(p_from, p_to, interval '1 day')::date loop
    foreach v_parent in array array['plan', 'jobs', 'attempts'] loop
      v_name := v_parent || '_' || to_char(v_day, 'YYYYMMDD');
      continue when to_regclass('carillon.' || v_name) is not null;
      -- Made apart and attached: that takes a weaker lock on the parent than `create table … partition of`.
      execute format('create table carillon.%I (like carillon.%I including defaults including constraints) with (%s)', v_name, v_parent,
        case v_parent
          -- Settling updates a job once, in place: the room left free keeps that update out of the index.
          when 'jobs' then 'fillfactor = 50, autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_vacuum_scale_factor = 0.5'
          else 'fillfactor = 100'
        end);
      execute format('alter table carillon.%I attach partition carillon.%I for values from (%L) to (%L)', v_parent, v_name,
        v_day::text || ' 00:00:00+00', (v_day + 1)::text || ' 00:00:00+00');
      v_made := v_made + 1;
    end loop;
  end loop;
  return v_made;
end $$;

-- Whether a job of these occurrences waits. Volatile: asked twice, it looks twice.
create function carillon.waits_within(p_from timestamptz, p_to timestamptz) returns boolean
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.parcels p cross join lateral unnest(p.occurrences) o where o >= p_from and o < p_to)
  $$;

-- Drops days of the plan that every watermark has left behind by a day. Returns their names. A transaction of its own:
-- a drop locks its parent until the commit, and nobody is to wait behind it for more than the drop.
create function carillon.drop_plan_days() returns text[]
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '500ms'
  as $$
declare
  v_dropped text[] := '{}';
  v_name text;
  v_before timestamptz;
begin
  perform pg_advisory_xact_lock(3, 0);
  -- The watermark runs ahead of the clock: by itself it would let go of yesterday, which attaching still wants, before midnight.
  select least(carillon.clock(), min(least(watermark_at, near_until))) - interval '1 day' into v_before from carillon.shards;
  for v_name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
                where i.inhparent = 'carillon.plan'::regclass order by 1 loop
    continue when (to_date(right(v_name, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' > v_before;
    execute format('drop table carillon.%I', v_name);
    v_dropped := v_dropped || v_name;
  end loop;
  return v_dropped;
end $$;

-- Drops the oldest day of jobs and attempts that is older than the retention and in which nothing waits: one day a call.
-- Returns its name, or null where there is none. Whatever waits is in a parcel, so the parcels tell and no day is searched.
create function carillon.drop_job_day(p_retention interval) returns text
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '500ms'
  as $$
declare
  v_name text;
  v_from timestamptz;
begin
  perform pg_advisory_xact_lock(3, 0);
  for v_name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
                where i.inhparent = 'carillon.jobs'::regclass order by 1 loop
    v_from := to_date(right(v_name, 8), 'YYYYMMDD')::timestamp at time zone 'UTC';
    exit when v_from + interval '1 day' > carillon.clock() - p_retention;
    continue when carillon.waits_within(v_from, v_from + interval '1 day');
    execute format('lock table carillon.%I in access exclusive mode', v_name);
    -- Once more under the lock: a dead job of this day may have been brought back to life meanwhile.
    continue when carillon.waits_within(v_from, v_from + interval '1 day');
    execute format('drop table carillon.%I', v_name);
    execute format('drop table if exists carillon.%I', 'attempts_' || right(v_name, 8));
    return v_name;
  end loop;
  return null;
end $$;

do $$
declare
  v_today date := (carillon.clock() at time zone 'UTC')::date;
begin
  perform carillon.attach_days(v_today - 1, v_today + 3);
  insert into carillon.shards (id, watermark_at, watermark_schedule, reached_at, near_until)
  select shard, carillon.clock(), 9223372036854775807, carillon.clock(), (v_today + 3)::timestamp at time zone 'UTC'
  from generate_series(0, 15) shard;
end $$;
