-- What is owed and let in slowly, so that it never buries what is due now: occurrences caught up with after an outage or a
-- pause, and backfills. And where to find the jobs that lie beside a cadence.

create table carillon.backlog (
  id bigint generated always as identity primary key,
  schedule_id bigint not null,
  version int not null,
  -- How many of the lists, from their beginning, are jobs already; a row of which all are is gone.
  taken int not null default 0,
  shard smallint not null,
  kind carillon.job_kind not null default 'cadence',
  -- Whose turn it is: the row that was served longest ago, or whose schedule was found held longest ago.
  turn_at timestamptz(3) not null,
  noted_at timestamptz(3) not null,
  -- Rising; no other row and no job has any of them in this kind.
  occurrences timestamptz(3)[] not null,
  dues timestamptz(3)[] not null,
  next_occurrence timestamptz(3) not null generated always as (occurrences[taken + 1]) stored,
  owing int not null generated always as (cardinality(occurrences) - taken) stored,
  constraint backlog_lists_match check (cardinality(occurrences) between 1 and 10000 and cardinality(dues) = cardinality(occurrences)),
  constraint backlog_is_owed check (taken >= 0 and taken < cardinality(occurrences))
) with (fillfactor = 80);

-- Read by the tick: whose turn it is.
create index backlog_turn on carillon.backlog (turn_at, id);

-- Read by claims in a lane, by backfills, edits and reads of one schedule.
create index backlog_schedule on carillon.backlog (schedule_id, next_occurrence);

-- Set on parcels of what was let in. There are only so many of them at a time: while they are not worked, no more are made.
alter table carillon.parcels add column owed boolean;

-- Read by the tick: how many jobs that were let in are under way.
create index parcels_owed on carillon.parcels (queue) where owed;

-- The jobs of every other kind than cadence. A schedule's versions tell its cadence's occurrences and so where its jobs are;
-- these lie anywhere. Partitioned by day and dropped with the day's jobs.
create table carillon.jobs_beside (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  n int not null,
  kind carillon.job_kind not null,
  -- Read by the history of one schedule, newest first.
  primary key (schedule_id, occurrence, kind, n),
  constraint jobs_beside_is_no_cadence check (kind <> 'cadence')
) partition by range (occurrence);

-- Read where a key is not found: whether it was a schedule's once.
create index schedules_deleted_key on carillon.schedules (key) where deleted_at is not null;

-- What was before this may have been dropped: whether an occurrence had a job can no longer be told.
create table carillon.retention (
  id boolean primary key default true,
  kept_from timestamptz(3) not null,
  constraint retention_has_one_row check (id)
);

-- Where no schedule was ever made nothing can have been dropped.
insert into carillon.retention (kept_from)
select case when exists (select from carillon.schedules)
    then min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC' else 'epoch' end
from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'carillon.jobs'::regclass;

-- As in 0007, with one more table.
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
  -- Two ticks that attach the same day take turns; the second finds it there. (Class 3: see lib/db/locks.ts.)
  perform pg_advisory_xact_lock(3, 0);
  for v_day in select generate_series(p_from, p_to, interval '1 day')::date loop
    foreach v_parent in array array['plan', 'jobs', 'attempts', 'jobs_beside'] loop
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

-- Attaches each of these days that has no jobs yet; what is there already takes no lock. A catch-up or a backfill may
-- reach back to days of which the tick keeps none.
create function carillon.attach_missing_days(p_instants timestamptz[]) returns int
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '2s'
  as $$
    select coalesce(sum(carillon.attach_days(day, day)), 0)::int
    from (select distinct (instant at time zone 'UTC')::date as day from unnest(p_instants) instant) days
    where to_regclass('carillon.jobs_' || to_char(day, 'YYYYMMDD')) is null
  $$;

-- As in 0007; it also drops the table added here and remembers up to where days were dropped.
create or replace function carillon.drop_job_day(p_retention interval) returns text
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
    execute format('drop table if exists carillon.%I', 'jobs_beside_' || right(v_name, 8));
    update carillon.retention set kept_from = greatest(kept_from, v_from + interval '1 day');
    return v_name;
  end loop;
  return null;
end $$;

-- The days that are there already.
do $$
declare
  v_day date;
begin
  for v_day in select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent = 'carillon.jobs'::regclass loop
    perform carillon.attach_days(v_day, v_day);
  end loop;
end $$;

-- Whether a cadence job of this schedule is still to be made for an earlier occurrence. Stable: it looks with the eyes of the
-- statement that asks, so that an occurrence is seen in the backlog or as a job and never as neither.
create or replace function carillon.owes_before(p_schedule bigint, p_occurrence timestamptz) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.backlog
      where schedule_id = p_schedule and next_occurrence < p_occurrence and kind = 'cadence')
  $$;

revoke execute on function carillon.attach_missing_days(timestamptz[]), carillon.owes_before(bigint, timestamptz) from public;
grant execute on function carillon.attach_missing_days(timestamptz[]) to carillon_tick, carillon_api;
grant select, insert, update, delete on carillon.backlog to carillon_tick, carillon_api;
grant select, insert on carillon.jobs_beside to carillon_tick, carillon_api;
grant select on carillon.retention to carillon_tick, carillon_api;
