-- What becomes of a claimed job: retries, rechecks, cancelling, crashes; what is dead, and who is told. And the words for what
-- later parts of this release build on: targets, lanes of groups, priorities.

-- What limits and turns are counted by: one row per handler, webhook host, function, queue and bus that a schedule names.
create table carillon.targets (
  id int generated always as identity primary key,
  -- For example handler/order-unshipped, webhook/api.example.com.
  name text collate "C" not null,
  -- At most so many jobs at once.
  concurrency int,
  -- At most so many starts in so many milliseconds.
  rate_count int,
  rate_ms int,
  constraint targets_name unique (name),
  constraint targets_concurrency check (concurrency >= 1),
  constraint targets_rate check ((rate_count is null) = (rate_ms is null) and rate_count >= 1 and rate_ms >= 1)
);

-- The target of this name, made where a schedule is the first to go there. Each statement sees what was committed before it, so of two
-- at once the second finds what the first made.
create function carillon.target_named(p_name text) returns int
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_id int;
begin
  select t.id into v_id from carillon.targets t where t.name = p_name;
  if found then return v_id; end if;
  insert into carillon.targets (name) values (p_name) on conflict do nothing;
  select t.id into v_id from carillon.targets t where t.name = p_name;
  return v_id;
end $$;

alter table carillon.schedules
  -- Null for a schedule that is older than this column and goes to a queue or a bus.
  add column target_id int references carillon.targets (id),
  -- The lane that all of its jobs pass, because they share a group: null for nearly all.
  add column lane text collate "C",
  -- So many jobs in a row that are dead set a hold.
  add column hold_after smallint,
  -- Null: normal. -1 comes before, 1 after.
  add column priority smallint,
  -- The last version that asks for something else than the one before: rechecks of older ones are over. Null: the first.
  add column fresh_version int,
  add constraint schedules_hold_after check (hold_after >= 1),
  add constraint schedules_priority check (priority in (-1, 1));

insert into carillon.targets (name)
select distinct 'handler/' || (v.target ->> 'handler')
from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
where s.target_kind = 'handler';

update carillon.schedules s set target_id = t.id
from carillon.schedule_versions v, carillon.targets t
where s.target_kind = 'handler' and v.schedule_id = s.id and v.version = s.spec_version and t.name = 'handler/' || (v.target ->> 'handler');

alter table carillon.jobs
  -- Of a recheck: how many there have been with it, since its schedule's own job.
  add column checks smallint,
  -- Of a recheck: the job that asked for the first of them.
  add column root_occurrence timestamptz(3),
  add column root_kind carillon.job_kind,
  add column root_n int,
  -- Attempts from before somebody had it tried again: the schedule's retry policy does not count them.
  add column forgiven smallint,
  -- Somebody wants it stopped while it runs: whoever settles it does not try it again.
  add column cancel_asked boolean;

alter table carillon.attempts
  add column error_class text,
  add column stack text,
  drop constraint attempts_outcome,
  add constraint attempts_outcome check (outcome in ('succeeded', 'failed', 'crashed', 'cancelled'));

-- Read wherever a schedule is: its rechecks, of which most have none.
create index jobs_beside_again on carillon.jobs_beside (schedule_id, occurrence, n) where kind = 'again';

create type carillon.parcel_turn as enum ('waits', 'granted');

alter table carillon.parcels
  -- All of its jobs go to this target; null where that is not looked at.
  add column target_id int,
  -- Whether it waits for its turn at the target, or has been given one and not taken it yet.
  add column turn carillon.parcel_turn,
  -- While it is under a lease: so many of its jobs may be under way at once.
  add column slots smallint,
  add column priority smallint,
  -- Its one job was under way when a worker died: until it has ended it takes nobody along, and nobody takes it.
  add column alone boolean;

-- The jobs that are dead, found without an index on the jobs' state, which each settle would have to write. Partitioned by day
-- and dropped with the day's jobs.
create table carillon.dead_jobs (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  died_at timestamptz(3) not null,
  n int not null,
  kind carillon.job_kind not null,
  primary key (occurrence, schedule_id, kind, n)
) partition by range (occurrence);

-- Read by lists of what is dead, newest first.
create index dead_jobs_died on carillon.dead_jobs (died_at, schedule_id);

-- Read by the list of one schedule's.
create index dead_jobs_schedule on carillon.dead_jobs (schedule_id, died_at);

-- What the bus is to be told, written with what it tells of and gone when it was told.
create table carillon.outbox (
  id bigint generated always as identity primary key,
  -- When the tick offers it: whoever wrote it tells the bus at once, and may die before it has.
  offer_at timestamptz(3) not null,
  at timestamptz(3) not null,
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  n int not null,
  kind carillon.job_kind not null,
  event text not null,
  attempt smallint not null,
  detail jsonb,
  constraint outbox_event check (event in ('started', 'succeeded', 'failed', 'dead', 'skipped', 'missed'))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Read by the tick.
create index outbox_offer on carillon.outbox (offer_at);

-- How many jobs of a schedule with `hold_after` have died in a row; no row where the last one did not.
create table carillon.failure_runs (
  schedule_id bigint primary key,
  failures int not null
);

-- Holds that a settle wants set: setting one is an edit, which takes locks that a settle must not wait for.
create table carillon.wanted_holds (
  id bigint generated always as identity primary key,
  schedule_id bigint not null,
  -- Of a version since replaced it is wanted no more.
  version int not null,
  at timestamptz(3) not null,
  reason text not null
);

-- As in 0012, with one more table.
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
    foreach v_parent in array array['plan', 'jobs', 'attempts', 'jobs_beside', 'dead_jobs'] loop
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

-- As in 0012; it also drops the table added here.
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
    execute format('drop table if exists carillon.%I', 'dead_jobs_' || right(v_name, 8));
    update carillon.retention set kept_from = greatest(kept_from, v_from + interval '1 day');
    return v_name;
  end loop;
  return null;
end $$;

-- The days that are there already, and what is dead in them.
do $$
declare
  v_day date;
begin
  for v_day in select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent = 'carillon.jobs'::regclass loop
    perform carillon.attach_days(v_day, v_day);
  end loop;
end $$;

insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
select occurrence, schedule_id, kind, n, finished_at from carillon.jobs where state = 'dead';

-- What a claim sees of a waiting job: itself, and what its schedule says at this moment. (As in 0011, with what is new.)
create or replace view carillon.startable as
  select j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.started_at, j.parcel_id, j.version as planned_version,
    -- The version that runs: the planned one, unless what is asked has changed since.
    greatest(j.version, s.spec_version) as version,
    s.key, s.group_key, v.body, v.target, coalesce(j.payload, v.payload) as payload,
    s.queue, s.held_since, s.held_until, s.overlap,
    -- Whoever is tried again at somebody's word is late already.
    case when j.forgiven is null then s.deadline_ms end as deadline_ms, s.lane, j.checks, j.forgiven, j.ready_at, s.shard, s.target_id
  from carillon.jobs j
  join carillon.schedules s on s.id = j.schedule_id
  join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
  -- Not `is null`: for a small table that nobody has analyzed, the planner would rather walk the index of live keys.
  where j.state = 'waiting' and coalesce(s.deleted_at, 'infinity') = 'infinity'
    -- A recheck belongs to what was asked when it was made or last tried, and is over with that.
    and (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version);

-- Writes down which rechecks of a claimed parcel are over, because another wish came between. Nearly always the edit has done so itself;
-- left to the claim is what failed and was to be tried again while the edit was made. Returns whose turn in their lanes has come by that.
create function carillon.cancel_superseded(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_ns int[];
begin
  if p_parcel.kinds is null or not 'again' = any(p_parcel.kinds) then return; end if;
  with cancelled as (
    update carillon.jobs j set state = 'cancelled', reason = 'superseded', parcel_id = null, ready_at = null, finished_at = p_now
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n), carillon.schedules s
    where k.kind = 'again' and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
      and s.id = k.schedule_id and s.deleted_at is null and coalesce(s.fresh_version, 1) > j.version
    returning j.occurrence, j.schedule_id, j.n
  )
  select array_agg(c.occurrence), array_agg(c.schedule_id), array_agg(c.n) into v_occurrences, v_schedule_ids, v_ns from cancelled c;
  if v_occurrences is null then return; end if;
  return query
    select f.id, f.queue
    from carillon.leave_lanes(v_occurrences, v_schedule_ids, array_fill('again'::carillon.job_kind, array[cardinality(v_ns)]), v_ns, p_now) f;
end $$;

-- As in 0011, and what left the parcel and may go at once. (Which targets are limited nobody knows yet.)
create function carillon.set_aside(p_parcel carillon.parcels, p_now timestamptz, p_limited int[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.set_aside(p_parcel, p_now);
end $$;

-- Whether a claimed parcel may go on to its target now (`enter`, with how many of its jobs at once), or not: then it has given its
-- lease back and waits for its turn (`held`) or for its time (`early`). `freed`: others whose turn has come by this look.
create function carillon.enter_target(p_parcel carillon.parcels, p_window int, p_now timestamptz)
  returns table (outcome text, wait_ms int, slots int, freed bigint, freed_queue carillon.queue_class)
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select 'enter', 0, null::int, null::bigint, null::carillon.queue_class $$;

-- After a parcel was settled or lost its lease: those whose turn at its target has come by that.
create function carillon.leave_target(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select null::bigint, null::carillon.queue_class, null::timestamptz where false $$;

-- Those jobs of a claimed parcel that may not simply start: late ones, and those that pass lanes. As in 0011; of every kind.
create function carillon.pass_lanes(p_parcel carillon.parcels, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[])
  returns table (id bigint, queue carillon.queue_class)
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select * from carillon.pass_lanes(p_parcel, p_occurrences, p_schedule_ids) $$;

-- A parcel that is to be sent, as a claim tells of it.
create function carillon.freed_details(p_wait_ms int, p_parcel bigint, p_queue carillon.queue_class) returns jsonb
  language sql immutable
  as $$ select jsonb_build_object('waitMs', p_wait_ms, 'freedId', p_parcel::text, 'freedQueue', p_queue) $$;

-- As in 0011; a parcel that belongs to a target enters there first, and a job that passes lanes may be of any kind. `p_window`: of
-- the parcels of one target so many may be worked at once. What is the same for all of its jobs comes once, in a last row (`claimed`).
drop function carillon.claim_parcel(bigint, int);

create function carillon.claim_parcel(p_parcel bigint, p_lease_ms int, p_window int default null)
  returns table (outcome text, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint;
  v_now timestamptz;
  v_lease_until timestamptz;
  v_parcel carillon.parcels;
  v_count int;
  v_passed int := 0;
  v_slots int;
  v_limited int[];
  v_entered record;
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- The answer where there is no job: the other columns stay null.
  outcome := 'gone';
  select p.shard into v_shard from carillon.parcels p where p.id = p_parcel;
  if not found then
    return next;
    return;
  end if;
  -- The gate, shared: an edit of this shard either committed before this line, and the look below sees it, or waits. (Class 2.)
  perform pg_advisory_xact_lock_shared(2, v_shard);
  v_now := carillon.clock();
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  update carillon.parcels p set fence = p.fence + 1, claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
  where p.id = p_parcel and p.ready_at <= v_now and p.lease_until is null
  returning p.* into v_parcel;
  if not found then
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    if not found then outcome := 'gone';
    elsif v_parcel.lease_until >= v_now then outcome := 'leased';
    elsif v_parcel.lease_until is not null then outcome := 'ended';
    elsif v_parcel.ready_at = 'infinity' then outcome := 'held';
    else
      outcome := 'early';
      more := jsonb_build_object('waitMs', ceil(least(extract(epoch from v_parcel.ready_at - v_now), 86400) * 1000));
    end if;
    return next;
    return;
  end if;
  v_limited := array(select t.id from carillon.targets t where t.concurrency is not null or t.rate_count is not null);
  if v_parcel.target_id is null and v_parcel.queue = 'slow' then
    -- Made without a look at where its jobs go: it is the first one's, and the others will leave it.
    update carillon.parcels p set target_id = f.target_id
    from (select j.target_id from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
        and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel limit 1) f
    where p.id = p_parcel and f.target_id is not null returning p.* into v_entered;
    if found then v_parcel := v_entered; end if;
  end if;
  if v_parcel.target_id is not null then
    for v_entered in select e.* from carillon.enter_target(v_parcel, p_window, v_now) e loop
      outcome := v_entered.outcome;
      more := carillon.freed_details(v_entered.wait_ms, v_entered.freed, v_entered.freed_queue);
      v_slots := v_entered.slots;
      if outcome <> 'enter' then return next; end if;
    end loop;
    if outcome <> 'enter' then return; end if;
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    v_now := v_parcel.claimed_at;
  end if;
  return query
    select 'job', j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version, j.version, j.key, j.group_key, j.target, j.payload,
      -- What few jobs have travels in one column, which is null for the others.
      case when j.lane is not null or j.checks is not null or j.forgiven is not null or j.body ? 'retry' or j.body ? 'timeout' then
        jsonb_build_object('lane', j.lane, 'checks', j.checks, 'forgiven', j.forgiven, 'retry', j.body -> 'retry', 'timeout', j.body -> 'timeout') end
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    -- The old parcel of a job that was planned anew may still list it: the job says which parcel it is in.
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel
    where (j.held_since is null or j.held_until <= v_now or j.kind = 'manual') and j.queue = v_parcel.queue and j.lane is null
      and case when v_parcel.target_id is not null then j.target_id is not distinct from v_parcel.target_id
        else v_limited = '{}' or j.target_id is null or j.target_id <> all (v_limited) end
      and ((j.overlap is null and (j.deadline_ms is null or j.attempt > 0 or j.started_at is not null
        or j.due_at + j.deadline_ms * interval '1 millisecond' >= v_now)) or j.kind <> 'cadence');
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_parcel.occurrences) then
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, f.id, f.queue)
      from carillon.cancel_superseded(v_parcel, v_now) f;
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, a.id, a.queue)
      from carillon.set_aside(v_parcel, v_now, v_limited) a;
    select array_agg(j.occurrence), array_agg(j.schedule_id), array_agg(j.kind), array_agg(j.n)
    into v_occurrences, v_schedule_ids, v_kinds, v_ns
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel
    where j.lane is not null or (j.kind = 'cadence' and (j.overlap is not null
      or (j.attempt = 0 and j.started_at is null and j.due_at + j.deadline_ms * interval '1 millisecond' < v_now)));
  end if;
  if v_occurrences is not null then
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, f.id, f.queue)
      from carillon.pass_lanes(v_parcel, v_occurrences, v_schedule_ids, v_kinds, v_ns) f;
    -- Who is in the parcel now has passed, at the moment that is now the parcel's; a lane may have brought more with it.
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    v_now := v_parcel.claimed_at;
    return query
      select 'job', j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version, j.version, j.key, j.group_key, j.target, j.payload,
        case when j.lane is not null or j.checks is not null or j.forgiven is not null or j.body ? 'retry' or j.body ? 'timeout' then
          jsonb_build_object('lane', j.lane, 'checks', j.checks, 'forgiven', j.forgiven, 'retry', j.body -> 'retry', 'timeout', j.body -> 'timeout') end
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
        and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel
      where j.lane is not null or (j.kind = 'cadence' and j.overlap is not null);
    get diagnostics v_passed = row_count;
  end if;
  if v_count + v_passed = 0 then
    delete from carillon.parcels p where p.id = p_parcel;
    if v_parcel.target_id is not null then
      return query
        select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details((extract(epoch from f.ready_at - v_now) * 1000)::int, f.id, f.queue)
        from carillon.leave_target(v_parcel, v_now) f;
    end if;
    outcome := 'empty';
    more := null;
    return next;
    return;
  end if;
  outcome := 'claimed';
  more := jsonb_build_object('fence', v_parcel.fence, 'claimedAt', v_now, 'slots', v_slots);
  return next;
end $$;

-- Writes down what became of these jobs of a parcel, those that still are its own: `succeeded`, `again` (and a recheck at p_at),
-- `retry` (at p_at, or after p_retry_ms), `dead`, `cancelled`, `crashed` (as `retry`), `back` (never started: no attempt is counted).
-- What was asked to be cancelled is not tried again. What is to be tried again goes into new parcels (with p_alone each into its own),
-- which come back to be sent. The parcel itself is the caller's.
create function carillon.write_outcomes(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[], p_retry_ms bigint[], p_errors text[],
    p_classes text[], p_stacks text[], p_reasons text[], p_holds text[], p_versions int[], p_notify text[], p_alone boolean)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  return query
    with results as materialized (
      select r.occurrence, r.schedule_id, r.kind, r.n, r.error, r.class, r.stack, r.reason, r.hold, r.version, s.shard, s.hold_after,
        j.attempt + case when r.outcome = 'back' then 0 else 1 end as attempt,
        case when j.cancel_asked and r.outcome in ('retry', 'crashed', 'back') then 'cancelled' when r.outcome = 'again' then 'succeeded'
          when r.outcome in ('crashed', 'back') then 'retry' else r.outcome end as becomes,
        r.outcome, greatest(p_now, case when r.outcome = 'retry' then coalesce(r.at, p_now + r.retry_ms * interval '1 millisecond') end) as again_at,
        -- An edit came between, or a delete: what it says counts.
        s.deleted_at is not null or coalesce(s.fresh_version, 1) > r.version as outdated,
        case when p_alone then row_number() over (order by r.occurrence, r.schedule_id, r.kind, r.n) else 0 end as seat
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors, p_classes, p_stacks, p_reasons, p_holds, p_versions)
        r (occurrence, schedule_id, kind, n, outcome, at, retry_ms, error, class, stack, reason, hold, version)
      join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
      join carillon.schedules s on s.id = r.schedule_id
    ), packed as materialized (
      select r.shard, r.outcome = 'back' as back, date_bin('1 s', r.again_at, 'epoch') as second, r.seat, max(r.again_at) as ready_at,
        nextval('carillon.parcels_id_seq') as id,
        array_agg(r.occurrence order by r.occurrence, r.schedule_id, r.kind, r.n) as occurrences,
        array_agg(r.schedule_id order by r.occurrence, r.schedule_id, r.kind, r.n) as schedule_ids,
        array_agg(r.kind order by r.occurrence, r.schedule_id, r.kind, r.n) as kinds,
        array_agg(r.n order by r.occurrence, r.schedule_id, r.kind, r.n) as ns
      from results r where r.becomes = 'retry' group by 1, 2, 3, 4
    ), updated as (
      update carillon.jobs j set
        state = case r.becomes when 'retry' then 'waiting'::carillon.job_state else r.becomes::carillon.job_state end,
        attempt = r.attempt,
        parcel_id = p.id,
        ready_at = p.ready_at,
        version = case when r.outcome = 'back' then j.version else r.version end,
        started_at = case when r.outcome = 'back' then j.started_at else coalesce(j.started_at, p_parcel.claimed_at) end,
        finished_at = case when r.becomes <> 'retry' then p_now end,
        reason = case when r.becomes = 'dead' then coalesce(r.reason, 'attempts') when r.becomes = 'cancelled' then 'requested'
          when r.outcome = 'again' and r.outdated then 'superseded' else j.reason end,
        error = coalesce(r.error, case when r.outcome in ('back', 'cancelled') then j.error end),
        cancel_asked = null
      from results r left join packed p
        on p.shard = r.shard and p.back = (r.outcome = 'back') and p.second = date_bin('1 s', r.again_at, 'epoch') and p.seat = r.seat and r.becomes = 'retry'
      where j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
    ), counted as (
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, stack)
      select r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_parcel.claimed_at,
        case when r.outcome = 'crashed' then least(p_parcel.lease_until, p_now) else p_now end,
        case when r.outcome = 'crashed' or (r.becomes = 'dead' and r.class = 'LeaseEnded') then 'crashed'
          when r.outcome = 'cancelled' then 'cancelled' when r.becomes = 'succeeded' then 'succeeded' else 'failed' end,
        r.error, r.class, r.stack
      from results r where r.outcome <> 'back' and (r.becomes <> 'succeeded' or r.attempt > 1)
    ), died as (
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
      select r.occurrence, r.schedule_id, r.kind, r.n, p_now from results r where r.becomes = 'dead'
      on conflict do nothing
    ), told as (
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
      select e.event, r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_now, p_now + interval '30 seconds',
        case when e.event = 'dead' then jsonb_build_object('reason', coalesce(r.reason, 'attempts')) end
      from results r cross join lateral (values
        (case when r.becomes = 'succeeded' then 'succeeded' when r.becomes = 'dead' then 'dead' end),
        (case when r.outcome in ('retry', 'crashed', 'dead') then 'failed' end)) e (event)
      where e.event = any(p_notify)
    ), dead_runs as (
      select r.schedule_id, max(r.version) as version, max(r.hold_after) as hold_after, count(*)::int as dead
      from results r where r.becomes = 'dead' and r.hold_after is not null and not r.outdated group by r.schedule_id
    ), runs as (
      insert into carillon.failure_runs (schedule_id, failures) select d.schedule_id, d.dead from dead_runs d order by d.schedule_id
      on conflict (schedule_id) do update set failures = failure_runs.failures + excluded.failures
      returning schedule_id, failures
    ), broken as (
      delete from carillon.failure_runs f using results r
      where f.schedule_id = r.schedule_id and r.becomes = 'succeeded' and r.hold_after is not null
        and not exists (select from dead_runs d where d.schedule_id = r.schedule_id)
    ), unwanted as (
      insert into carillon.wanted_holds (schedule_id, version, at, reason)
      select r.schedule_id, max(r.version), p_now, min(r.hold) from results r where r.hold is not null group by r.schedule_id
      union all
      select d.schedule_id, d.version, p_now, f.failures || ' jobs in a row are dead.'
      from dead_runs d join runs f on f.schedule_id = d.schedule_id where f.failures >= d.hold_after
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, owed, alone, occurrences, schedule_ids, kinds, ns)
    select p.id, p.shard, p_parcel.queue, p.ready_at, greatest(p_now + interval '20 seconds', p.ready_at - interval '150 seconds'),
      -- What never started keeps its place at the target.
      p_parcel.target_id, case when p.back then p_parcel.turn_at end, p_parcel.priority, p_parcel.owed,
      case when p.back and (p_alone or p_parcel.alone) then true end, p.occurrences, p.schedule_ids, p.kinds, p.ns
    from packed p
    returning parcels.id, parcels.queue, parcels.ready_at;

  if 'again' = any(p_outcomes) then
    return query select * from carillon.make_rechecks(p_parcel, p_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at);
  end if;
end $$;

-- The rechecks that jobs which just succeeded ask for, unless an edit came between: then they say so. The gates are ours, so none comes
-- now. Each is a job of its own, in a parcel of its own, beside the cadence.
create function carillon.make_rechecks(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[])
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_recheck record;
  v_n int;
begin
  -- In one order, whoever makes them: two that ask for the same instant of a schedule wait for each other.
  for v_recheck in
    select date_trunc('milliseconds', r.at) as at, s.id as schedule_id, s.shard, s.lane, s.queue, s.version, coalesce(j.checks, 0) + 1 as checks, j.payload,
      nextval('carillon.parcels_id_seq') as parcel, coalesce(j.root_occurrence, j.occurrence) as root_occurrence,
      coalesce(j.root_kind, j.kind) as root_kind, coalesce(j.root_n, j.n) as root_n
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at) r (occurrence, schedule_id, kind, n, outcome, at)
    join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
      and j.state = 'succeeded' and j.finished_at = p_now and j.reason is distinct from 'superseded'
    join carillon.schedules s on s.id = r.schedule_id
    where r.outcome = 'again'
    order by s.id, 1, r.occurrence, r.kind, r.n
  loop
    select coalesce(max(o.n) + 1, 0) into v_n from carillon.jobs o
    where o.occurrence = v_recheck.at and o.schedule_id = v_recheck.schedule_id and o.kind = 'again';
    loop
      insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version, kind, n, checks, payload, root_occurrence, root_kind, root_n)
      values (v_recheck.at, v_recheck.schedule_id, v_recheck.at, v_recheck.parcel, v_recheck.version, 'again', v_n, v_recheck.checks,
        v_recheck.payload, v_recheck.root_occurrence, v_recheck.root_kind, v_recheck.root_n)
      on conflict do nothing;
      exit when found;
      v_n := v_n + 1;
    end loop;
    insert into carillon.jobs_beside (occurrence, schedule_id, kind, n) values (v_recheck.at, v_recheck.schedule_id, 'again', v_n);
    insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
    select v_recheck.lane, v_recheck.at, v_recheck.at, v_recheck.schedule_id, 'again', v_n where v_recheck.lane is not null
    on conflict do nothing;
    return query
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, priority, occurrences, schedule_ids, kinds, ns)
      values (v_recheck.parcel, v_recheck.shard, v_recheck.queue, v_recheck.at, greatest(p_now + interval '20 seconds', v_recheck.at - interval '150 seconds'),
        case when v_recheck.queue = p_parcel.queue then p_parcel.target_id end, p_parcel.priority,
        array[v_recheck.at], array[v_recheck.schedule_id], array['again'::carillon.job_kind], array[v_n])
      returning parcels.id, parcels.queue, parcels.ready_at;
  end loop;
end $$;

-- The gates of these schedules, shared, for rechecks: no edit comes between the look at a schedule and what is made of it. (Class 2.)
create function carillon.share_gates(p_schedule_ids bigint[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_shard smallint;
begin
  for v_shard in select distinct (select s.shard from carillon.schedules s where s.id = k.id) from unnest(p_schedule_ids) k (id) order by 1 loop
    perform pg_advisory_xact_lock_shared(2, v_shard);
  end loop;
end $$;

-- Writes each claimed job once, if the fence still holds, and removes the parcel. With p_outcomes null all succeeded, in the versions
-- they were planned in; else the arrays list every claimed job, as write_outcomes takes them. p_notify: the events that the bus is told.
-- The first row says whether the fence held; the others are parcels to be sent: what is tried again, what is checked again, and
-- those in the same lanes or at the same target whose turn has come.
drop function carillon.settle_parcel(bigint, int, timestamptz[], bigint[], carillon.job_kind[], int[], text[], bigint[], text[], int[]);

create function carillon.settle_parcel(p_parcel bigint, p_fence int, p_notify text[] default null, p_occurrences timestamptz[] default null,
    p_schedule_ids bigint[] default null, p_kinds carillon.job_kind[] default null, p_ns int[] default null, p_outcomes text[] default null,
    p_at timestamptz[] default null, p_retry_ms bigint[] default null, p_errors text[] default null, p_classes text[] default null,
    p_stacks text[] default null, p_reasons text[] default null, p_holds text[] default null, p_versions int[] default null)
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_parcel carillon.parcels;
begin
  if 'again' = any(p_outcomes) then perform carillon.share_gates(p_schedule_ids); end if;
  v_now := carillon.clock();
  delete from carillon.parcels p where p.id = p_parcel and p.fence = p_fence returning p.* into v_parcel;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if p_outcomes is null then
    with updated as (
      update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, parcel_id = null, ready_at = null, error = null,
        started_at = coalesce(j.started_at, v_parcel.claimed_at), finished_at = v_now
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
      returning j.occurrence, j.schedule_id, j.kind, j.n, j.attempt
    )
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome)
    select u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, v_parcel.claimed_at, v_now, 'succeeded'
    from updated u where u.attempt > 1;
    if 'succeeded' = any(p_notify) then
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
      select 'succeeded', j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, v_now, v_now + interval '30 seconds'
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'succeeded' and j.finished_at = v_now;
    end if;
    -- Nearly always there is none at all.
    if exists (select from carillon.failure_runs) then
      delete from carillon.failure_runs f using unnest(v_parcel.schedule_ids) k (schedule_id) where f.schedule_id = k.schedule_id;
    end if;
  else
    return query select true, w.id, w.queue, w.ready_at
      from carillon.write_outcomes(v_parcel, v_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors,
        p_classes, p_stacks, p_reasons, p_holds, p_versions, p_notify, false) w;
  end if;

  if v_parcel.target_id is not null then
    return query select true, f.id, f.queue, f.ready_at from carillon.leave_target(v_parcel, v_now) f;
  end if;
  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;

-- Settles one job of a parcel inside the transaction of its handler, as succeeded: what the handler wrote and this become true together.
-- The parcel stays, for its other jobs and for the settle that ends it. The first row says whether it held: the lease was ours, the job
-- still its own, and nobody wants it cancelled.
create function carillon.settle_job(p_parcel bigint, p_fence int, p_occurrence timestamptz, p_schedule_id bigint, p_kind carillon.job_kind,
    p_n int, p_version int, p_outcome text, p_at timestamptz, p_notify text[])
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_parcel carillon.parcels;
begin
  if p_outcome not in ('succeeded', 'again') then raise exception 'A job is settled alone only when it succeeded, not: %', p_outcome; end if;
  if p_outcome = 'again' then perform carillon.share_gates(array[p_schedule_id]); end if;
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.fence = p_fence for share;
  v_now := carillon.clock();
  settled := v_parcel.id is not null and exists (
    select from carillon.jobs j where j.occurrence = p_occurrence and j.schedule_id = p_schedule_id and j.kind = p_kind and j.n = p_n
      and j.state = 'waiting' and j.parcel_id = p_parcel and j.cancel_asked is not true);
  return query select settled, null::bigint, null::carillon.queue_class, null::timestamptz;
  if not settled then return; end if;
  return query select true, w.id, w.queue, w.ready_at
    from carillon.write_outcomes(v_parcel, v_now, array[p_occurrence], array[p_schedule_id], array[p_kind], array[p_n], array[p_outcome],
      array[p_at], array[null::bigint], array[null::text], array[null::text], array[null::text], array[null::text], array[null::text],
      array[p_version], p_notify, false) w;
end $$;

-- A sign of life from whoever works a parcel: the lease goes on, and the jobs come back that somebody wants stopped.
create function carillon.beat_parcel(p_parcel bigint, p_fence int, p_lease_ms int)
  returns table (held boolean, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_lease_until timestamptz := carillon.clock() + p_lease_ms * interval '1 millisecond';
  v_parcel carillon.parcels;
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.fence = p_fence;
  return query select v_parcel.id is not null, null::timestamptz, null::bigint, null::carillon.job_kind, null::int;
  if v_parcel.id is null then return; end if;
  -- Not at each look: a lease of which more than half is left is long enough.
  update carillon.parcels p set lease_until = v_lease_until, offer_at = v_lease_until
  where p.id = p_parcel and p.fence = p_fence and p.lease_until < v_lease_until - p_lease_ms * interval '0.5 milliseconds';
  return query
    select true, j.occurrence, j.schedule_id, j.kind, j.n
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel and j.cancel_asked;
end $$;

-- In which version a job whose worker died was tried, as far as can be told; a recheck that is over stays in the version it belongs to.
create function carillon.version_tried(p_job carillon.jobs, p_schedule carillon.schedules) returns int
  language sql immutable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_job.kind = 'again' and coalesce(p_schedule.fresh_version, 1) > p_job.version then p_job.version
      else greatest(p_job.version, p_schedule.spec_version) end
  $$;

-- Takes a parcel whose lease has ended from its worker. A job that was alone had started: that was an attempt, and after the last one
-- it is dead; else its parcel is there to be claimed again, under a new fence. Of several each goes into a parcel of its own and none is
-- charged, so that one that kills its worker takes no neighbours with it again. Returns the parcels to be sent.
create function carillon.end_lease(p_parcel bigint, p_attempts int, p_notify text[])
  returns table (ended boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_alone record;
  v_count int := 0;
  v_error text := 'The worker stopped without an answer: its lease ended.';
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.lease_until < v_now for update;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  for v_alone in
    select j.occurrence, j.schedule_id, j.kind, j.n, s.shard, carillon.version_tried(j, s) as version, j.attempt + 1 as attempt, j.cancel_asked,
      j.attempt + 1 - coalesce(j.forgiven, 0) >= coalesce((v.body -> 'retry' ->> 'attempts')::int, p_attempts) as last_try
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
    join carillon.schedules s on s.id = j.schedule_id
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    limit 2
  loop
    v_count := v_count + 1;
  end loop;

  if v_count = 1 and not v_alone.last_try and v_alone.cancel_asked is not true then
    update carillon.parcels p set fence = p.fence + 1, claimed_at = null, lease_until = null, slots = null, turn = null, laned = null, alone = true,
      ready_at = v_now, offers = 1, offer_at = v_now + interval '1 minute', shard = v_alone.shard,
      occurrences = array[v_alone.occurrence], schedule_ids = array[v_alone.schedule_id], kinds = array[v_alone.kind], ns = array[v_alone.n]
    where p.id = p_parcel;
    update carillon.jobs j set attempt = v_alone.attempt, started_at = coalesce(j.started_at, v_parcel.claimed_at), error = v_error,
      ready_at = v_now, version = v_alone.version
    where j.occurrence = v_alone.occurrence and j.schedule_id = v_alone.schedule_id and j.kind = v_alone.kind and j.n = v_alone.n;
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class)
    values (v_alone.occurrence, v_alone.schedule_id, v_alone.kind, v_alone.n, v_alone.attempt, v_parcel.claimed_at, v_parcel.lease_until,
      'crashed', v_error, 'LeaseEnded');
    if 'failed' = any(p_notify) then
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
      values ('failed', v_alone.occurrence, v_alone.schedule_id, v_alone.kind, v_alone.n, v_alone.attempt, v_now, v_now + interval '30 seconds');
    end if;
    return query select true, p_parcel, v_parcel.queue, v_now;
  else
    delete from carillon.parcels p where p.id = p_parcel;
    return query
      with own as (
        select j.occurrence, j.schedule_id, j.kind, j.n, carillon.version_tried(j, s) as version
        from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
        join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
          and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
        join carillon.schedules s on s.id = j.schedule_id
      ), listed as (
        select array_agg(o.occurrence) as occurrences, array_agg(o.schedule_id) as schedule_ids, array_agg(o.kind) as kinds, array_agg(o.n) as ns,
          array_agg(case when v_count > 1 then 'back' when v_alone.last_try and v_alone.cancel_asked is not true then 'dead' else 'crashed' end) as outcomes,
          array_agg(null::timestamptz) as ats, array_agg(0::bigint) as retries, array_agg(case when v_count = 1 then v_error end) as errors,
          array_agg(case when v_count = 1 then 'LeaseEnded' end) as classes, array_agg(null::text) as nothing, array_agg(o.version) as versions
        from own o
      )
      select true, w.id, w.queue, w.ready_at
      from listed l cross join lateral carillon.write_outcomes(v_parcel, v_now, l.occurrences, l.schedule_ids, l.kinds, l.ns, l.outcomes, l.ats,
        l.retries, l.errors, l.classes, l.nothing, l.nothing, l.nothing, l.versions, p_notify, true) w
      where l.occurrences is not null;
  end if;
  if v_parcel.target_id is not null then
    return query select true, f.id, f.queue, f.ready_at from carillon.leave_target(v_parcel, v_now) f;
  end if;
  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;

-- The role of workers that run handlers: what a worker may do, and edits, which handlers make in their own transactions.
do $$
begin
  begin
    create role carillon_handler nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  execute format('alter role carillon_handler in database %I set jit = off', current_database());
  execute format('alter role carillon_handler in database %I set lock_timeout = %L', current_database(), '5s');
  execute format('alter role carillon_handler in database %I set statement_timeout = %L', current_database(), '10s');
  execute format('alter role carillon_handler in database %I set idle_in_transaction_session_timeout = %L', current_database(), '10s');
end $$;

revoke execute on function carillon.freed_details(int, bigint, carillon.queue_class),
  carillon.set_aside(carillon.parcels, timestamptz, int[]), carillon.enter_target(carillon.parcels, int, timestamptz), carillon.leave_target(carillon.parcels, timestamptz),
  carillon.pass_lanes(carillon.parcels, timestamptz[], bigint[], carillon.job_kind[], int[]), carillon.claim_parcel(bigint, int, int),
  carillon.cancel_superseded(carillon.parcels, timestamptz), carillon.version_tried(carillon.jobs, carillon.schedules),
  carillon.write_outcomes(carillon.parcels, timestamptz, timestamptz[], bigint[], carillon.job_kind[], int[], text[], timestamptz[], bigint[],
    text[], text[], text[], text[], text[], int[], text[], boolean),
  carillon.make_rechecks(carillon.parcels, timestamptz, timestamptz[], bigint[], carillon.job_kind[], int[], text[], timestamptz[]),
  carillon.share_gates(bigint[]), carillon.target_named(text),
  carillon.settle_parcel(bigint, int, text[], timestamptz[], bigint[], carillon.job_kind[], int[], text[], timestamptz[], bigint[], text[], text[],
    text[], text[], text[], int[]),
  carillon.settle_job(bigint, int, timestamptz, bigint, carillon.job_kind, int, int, text, timestamptz, text[]),
  carillon.beat_parcel(bigint, int, int), carillon.end_lease(bigint, int, text[])
  from public;
grant execute on function carillon.claim_parcel(bigint, int, int), carillon.beat_parcel(bigint, int, int),
  carillon.settle_parcel(bigint, int, text[], timestamptz[], bigint[], carillon.job_kind[], int[], text[], timestamptz[], bigint[], text[], text[],
    text[], text[], text[], int[]),
  carillon.settle_job(bigint, int, timestamptz, bigint, carillon.job_kind, int, int, text, timestamptz, text[]),
  carillon.end_lease(bigint, int, text[]), carillon.attach_missing_days(timestamptz[])
  to carillon_worker;
grant execute on function carillon.end_lease(bigint, int, text[]), carillon.target_named(text) to carillon_tick;
grant execute on function carillon.target_named(text),
  carillon.leave_lanes(timestamptz[], bigint[], carillon.job_kind[], int[], timestamptz) to carillon_api;
grant select on carillon.targets to carillon_tick, carillon_worker, carillon_api;
grant select, insert on carillon.outbox to carillon_tick, carillon_worker, carillon_api;
grant update, delete on carillon.outbox to carillon_tick, carillon_worker;
grant select on carillon.dead_jobs, carillon.failure_runs, carillon.wanted_holds to carillon_tick, carillon_api;
grant delete on carillon.dead_jobs to carillon_api;
grant delete on carillon.wanted_holds, carillon.failure_runs to carillon_tick, carillon_api;
grant insert on carillon.holds to carillon_tick;

-- All that the worker may, and what the API's role may but for the tokens. (What later migrations give to one of them they give to this
-- one as well.)
grant carillon_worker to carillon_handler;
do $$
declare
  v_grant record;
begin
  for v_grant in
    select format('%s on carillon.%I', g.privilege_type, g.table_name) as text from information_schema.role_table_grants g
    where g.table_schema = 'carillon' and g.grantee = 'carillon_api' and g.table_name <> 'tokens'
    union all
    select format('execute on function %s', p.oid::regprocedure) from pg_proc p
    where p.pronamespace = 'carillon'::regnamespace and has_function_privilege('carillon_api', p.oid, 'execute')
  loop
    execute format('grant %s to carillon_handler', v_grant.text);
  end loop;
end $$;
grant usage on schema carillon to carillon_handler;
grant usage on all sequences in schema carillon to carillon_handler;
