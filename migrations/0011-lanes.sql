-- Deadline and overlap, decided at the claim, where alone they can be known; and the lanes through which jobs pass that exclude
-- each other. A job without either never touches any of this: its claim tests two columns for null.

create type carillon.overlap_rule as enum ('skip', 'queue');

alter table carillon.schedules
  -- Null: jobs of the schedule may overlap.
  add column overlap carillon.overlap_rule,
  -- A cadence job that would start later than this after its due time is skipped.
  add column deadline_ms bigint,
  add constraint schedules_deadline check (deadline_ms > 0);

-- One row per job that must pass a lane and is not settled. It counts only while its job waits: what is left of a job that was
-- withdrawn or settled elsewhere keeps nobody waiting, and goes when the next one passes.
create table carillon.lane_entries (
  due_at timestamptz(3) not null,
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  n int not null,
  kind carillon.job_kind not null,
  -- It has passed and is not settled yet: it runs, or waits to be tried again.
  entered boolean not null default false,
  lane text collate "C" not null,
  -- In the order in which they pass.
  primary key (lane, due_at, occurrence, schedule_id, kind, n)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Read by claims and settles: who is inside.
create index lane_entries_entered on carillon.lane_entries (lane, due_at) where entered;

alter table carillon.parcels
  -- Set while its one job waits for its turn in this lane.
  add column lane text collate "C",
  -- Some of its jobs passed a lane: who settles it hands over to the next.
  add column laned boolean,
  add constraint parcels_lane_waits check (lane is null
    or (ready_at = 'infinity' and lease_until is null and held_schedule is null and cardinality(occurrences) = 1));

-- Read by edits: what waits in a lane.
create index parcels_lane on carillon.parcels (lane) where lane is not null;

-- Read by the sweep: what is to be offered by now, the longest waiting first; and what has waited in a lane for long.
drop index carillon.parcels_offer;
create index parcels_offer on carillon.parcels (offer_at) where lane is null;
create index parcels_lane_offer on carillon.parcels (offer_at) where lane is not null;

create function carillon.lane_of(p_schedule bigint) returns text
  language sql immutable parallel safe
  as $$ select 'schedule/' || p_schedule $$;

-- One at a time decides in a lane. (Class 4: see lib/db/locks.ts. Sixteen keys a shard, so that no parcel takes more locks.)
create function carillon.lock_lanes(p_schedules bigint[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_key int;
begin
  for v_key in select distinct (select s.shard * 16 from carillon.schedules s where s.id = k.id) + (hashtext(carillon.lane_of(k.id)) & 15)
               from unnest(p_schedules) k (id) order by 1 loop
    perform pg_advisory_xact_lock(4, v_key);
  end loop;
end $$;

-- Whether a cadence job of this schedule is still to be made for an earlier occurrence.
create function carillon.owes_before(p_schedule bigint, p_occurrence timestamptz) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select false $$;

-- Whose turn it is in a lane: the first of those inside (one, unless jobs overlapped before their schedule forbade it), else the
-- first of all. It may not pass while another one that is inside is under a lease, or while an earlier one is still to be made.
create function carillon.lane_front(p_lane text)
  returns table (occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    with inside as materialized (
      select e.*, j.parcel_id
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting' offset 0) j
      where e.lane = p_lane and e.entered
    )
    (select i.occurrence, i.schedule_id, i.kind, i.n, i.parcel_id, not exists (
        select from inside o join carillon.parcels p on p.id = o.parcel_id
        where p.lease_until is not null and (o.occurrence, o.schedule_id, o.kind, o.n) <> (i.occurrence, i.schedule_id, i.kind, i.n))
      from inside i order by i.due_at, i.occurrence, i.schedule_id, i.kind, i.n limit 1)
    union all
    (select e.occurrence, e.schedule_id, e.kind, e.n, j.parcel_id, not carillon.owes_before(e.schedule_id, e.occurrence)
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting' offset 0) j
      where e.lane = p_lane and not exists (select from inside)
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1)
  $$;

-- Lets go of the one whose turn it is, where it waits for that. The lanes are locked. Returns the parcels to be sent.
create function carillon.free_lanes(p_schedules bigint[], p_now timestamptz) returns table (id bigint, queue carillon.queue_class)
  language sql volatile
  as $$
    update carillon.parcels p set lane = null, ready_at = p_now, offer_at = p_now + interval '20 seconds', offers = 0
    from unnest(p_schedules) s (id) cross join lateral carillon.lane_front(carillon.lane_of(s.id)) f
    where p.id = f.parcel_id and p.lane = carillon.lane_of(s.id) and f.may_pass
    returning p.id, p.queue
  $$;

-- After these jobs were written: those that are settled leave their lanes, and the next ones are let go.
create function carillon.leave_lanes(p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[], p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
begin
  select array_agg(distinct e.schedule_id) into v_schedules
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
    and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
  join carillon.lane_entries e on e.lane = carillon.lane_of(j.schedule_id) and e.due_at = j.due_at
    and e.occurrence = j.occurrence and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n;
  if v_schedules is null then return; end if;
  perform carillon.lock_lanes(v_schedules);
  delete from carillon.lane_entries e
  using unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n), carillon.jobs j
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
    and j.n = coalesce(k.n, 0) and j.state <> 'waiting'
    and e.lane = carillon.lane_of(j.schedule_id) and e.due_at = j.due_at
    and e.occurrence = j.occurrence and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n;
  return query select f.id, f.queue from carillon.free_lanes(v_schedules, p_now) f;
end $$;

-- What a claim sees of a waiting job: itself, and what its schedule says at this moment.
create view carillon.startable as
  select j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.started_at, j.parcel_id, j.version as planned_version,
    -- The version that runs: the planned one, unless what is asked has changed since.
    greatest(j.version, s.spec_version) as version,
    s.key, s.group_key, v.body, v.target, coalesce(j.payload, v.payload) as payload,
    s.queue, s.held_since, s.held_until, s.overlap, s.deadline_ms
  from carillon.jobs j
  join carillon.schedules s on s.id = j.schedule_id
  join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
  -- Not `is null`: for a small table that nobody has analyzed, the planner would rather walk the index of live keys.
  where j.state = 'waiting' and coalesce(s.deleted_at, 'infinity') = 'infinity';

-- As in 0008; and what waits for a hold that ends by itself is ready when it ends.
create or replace function carillon.set_aside(p_parcel carillon.parcels, p_now timestamptz) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  update carillon.jobs j set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = p_now
  from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n),
       carillon.schedules s
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = p_parcel.id
    and s.id = k.schedule_id and s.deleted_at is not null;

  with aside as (
    select j.occurrence, j.schedule_id, j.kind, j.n, j.queue, h.held, case when h.held is null then p_now else coalesce(j.held_until, 'infinity') end as ready_at
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel.id
    cross join lateral (
      select case when j.held_since is not null and coalesce(j.held_until, 'infinity') > p_now and j.kind <> 'manual' then j.schedule_id end as held) h
    where h.held is not null or j.queue <> p_parcel.queue
  ), seated as (
    select a.*, (row_number() over (partition by a.queue, a.held order by a.occurrence, a.schedule_id, a.kind, a.n) - 1) / 10 as seat from aside a
  ), packed as materialized (
    select nextval('carillon.parcels_id_seq') as id, queue, held, seat, max(ready_at) as ready_at,
      array_agg(occurrence order by occurrence, schedule_id, kind, n) as occurrences,
      array_agg(schedule_id order by occurrence, schedule_id, kind, n) as schedule_ids,
      array_agg(kind order by occurrence, schedule_id, kind, n) as kinds,
      array_agg(n order by occurrence, schedule_id, kind, n) as ns
    from seated group by queue, held, seat
  ), inserted as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, occurrences, schedule_ids, kinds, ns)
    -- In time for a message to come when it is ready: so long, and a sweep's minute, the queue lets it wait.
    select id, p_parcel.shard, queue, ready_at, greatest(p_now, ready_at - interval '150 seconds'), held, occurrences, schedule_ids, kinds, ns
    from packed
  )
  update carillon.jobs j set parcel_id = p.id, ready_at = p.ready_at
  from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n;
end $$;

-- Those cadence jobs of a claimed parcel that are late or whose schedule forbids overlaps: who may not start leaves the parcel,
-- skipped or to wait for its turn in a parcel of its own. Called by claim_parcel under the gate, after set_aside. Returns
-- the parcels of those in the same lanes whose turn has come by that.
create function carillon.pass_lanes(p_parcel carillon.parcels, p_occurrences timestamptz[], p_schedule_ids bigint[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
  v_now timestamptz;
begin
  select array_agg(distinct k.id) into v_schedules
  from unnest(p_schedule_ids) k (id) where (select s.overlap from carillon.schedules s where s.id = k.id) is not null;
  -- Before anything is decided: a settle may have the lane at this moment, and what starts after it starts later than it.
  perform carillon.lock_lanes(v_schedules);
  v_now := carillon.clock();

  with late as (
    select j.occurrence, j.schedule_id, j.due_at, j.parcel_id
    from unnest(p_occurrences, p_schedule_ids) k (occurrence, schedule_id)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.deadline_ms from carillon.schedules s where s.id = j.schedule_id offset 0) s
    where j.attempt = 0 and j.started_at is null and j.due_at + s.deadline_ms * interval '1 millisecond' < v_now
    union all
    -- And what has become late while it waited in the same lanes; without a bound a long queue would be one long transaction.
    select l.occurrence, l.schedule_id, l.due_at, l.parcel_id
    from unnest(v_schedules) v (id) cross join lateral (
      select s.deadline_ms from carillon.schedules s where s.id = v.id offset 0) s cross join lateral (
      select e.occurrence, e.schedule_id, e.due_at, j.parcel_id
      from carillon.lane_entries e
      join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting' and j.attempt = 0 and j.started_at is null
      join carillon.parcels p on p.id = j.parcel_id and p.lane = e.lane
      where e.lane = carillon.lane_of(v.id) and e.due_at < v_now - s.deadline_ms * interval '1 millisecond'
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 100) l
  ), unparked as (
    delete from carillon.parcels p using late l where p.id = l.parcel_id and p.lane is not null
  ), gone as (
    delete from carillon.lane_entries e using late l
    where e.lane = carillon.lane_of(l.schedule_id) and e.due_at = l.due_at and e.occurrence = l.occurrence
      and e.schedule_id = l.schedule_id and e.kind = 'cadence' and e.n = 0
  )
  update carillon.jobs j set state = 'skipped', reason = 'late', parcel_id = null, ready_at = null, finished_at = v_now
  from late l where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = 'cadence' and j.n = 0;
  if v_schedules is null then return; end if;

  insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
  select carillon.lane_of(j.schedule_id), j.due_at, j.occurrence, j.schedule_id, j.kind, j.n
  from unnest(p_occurrences, p_schedule_ids) k (occurrence, schedule_id)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
    and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting' and j.parcel_id = p_parcel.id
  where k.schedule_id = any(v_schedules)
  on conflict do nothing;

  with own as materialized (
    select e.lane, e.due_at, e.occurrence, e.schedule_id, e.kind, e.n, e.entered, f.parcel_id is not null as passes,
      s.overlap = 'skip' and j.attempt = 0 and j.started_at is null and not e.entered as skippable
    from unnest(p_occurrences, p_schedule_ids) k (occurrence, schedule_id)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.overlap from carillon.schedules s where s.id = j.schedule_id offset 0) s
    join carillon.lane_entries e on e.lane = carillon.lane_of(j.schedule_id) and e.due_at = j.due_at
      and e.occurrence = j.occurrence and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n
    left join lateral carillon.lane_front(e.lane) f
      on f.may_pass and (f.occurrence, f.schedule_id, f.kind, f.n) = (j.occurrence, j.schedule_id, j.kind, j.n)
    where s.overlap is not null
  ), entering as (
    update carillon.lane_entries e set entered = true from own o
    where o.passes and not o.entered and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), outlived as (
    -- Whoever enters as the first finds nobody inside and nobody before: entries that say otherwise are of jobs that are no more.
    delete from carillon.lane_entries e using own o
    where o.passes and not o.entered and e.lane = o.lane
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) < (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
  ), outlived_inside as (
    delete from carillon.lane_entries e using own o
    where o.passes and not o.entered and e.lane = o.lane and e.entered
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) > (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
  ), marked as (
    update carillon.parcels p set laned = true, claimed_at = v_now, lease_until = p.lease_until + (v_now - p.claimed_at),
      offer_at = p.lease_until + (v_now - p.claimed_at)
    where p.id = p_parcel.id and exists (select from own o where o.passes)
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'overlap', parcel_id = null, ready_at = null, finished_at = v_now from own o
    where not o.passes and o.skippable and j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
  ), gone as (
    delete from carillon.lane_entries e using own o
    where not o.passes and o.skippable and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), parked as materialized (
    select nextval('carillon.parcels_id_seq') as id, o.* from own o where not o.passes and not o.skippable
  ), inserted as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, occurrences, schedule_ids, kinds, ns)
    select p.id, p_parcel.shard, p_parcel.queue, 'infinity', v_now + interval '1 minute', p.lane,
      array[p.occurrence], array[p.schedule_id], array[p.kind], array[p.n]
    from parked p
  )
  update carillon.jobs j set parcel_id = p.id from parked p
  where j.occurrence = p.occurrence and j.schedule_id = p.schedule_id and j.kind = p.kind and j.n = p.n;

  return query select f.id, f.queue from carillon.free_lanes(v_schedules, v_now) f;
end $$;

-- As in 0008; what is flagged goes the longer way, and a claim by which somebody else's turn has come says whose (`freed`: the
-- parcel is to be sent). `held` is also the answer for a parcel that waits for its turn.
drop function carillon.claim_parcel(bigint, int);

create function carillon.claim_parcel(p_parcel bigint, p_lease_ms int)
  returns table (outcome text, wait_ms int, fence int, claimed_at timestamptz, occurrence timestamptz, schedule_id bigint,
    kind carillon.job_kind, n int, due_at timestamptz, attempt smallint, planned_version int, version int, key text,
    group_key text, body jsonb, target jsonb, payload jsonb, freed bigint, freed_queue carillon.queue_class)
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
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
begin
  -- The answer where there is no job: the other columns stay null.
  outcome := 'gone';
  wait_ms := 0;
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
      wait_ms := ceil(least(extract(epoch from v_parcel.ready_at - v_now), 86400) * 1000);
    end if;
    return next;
    return;
  end if;
  return query
    select 'job', 0, v_parcel.fence, v_now, j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version,
      j.version, j.key, j.group_key, j.body, j.target, j.payload, null::bigint, null::carillon.queue_class
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    -- The old parcel of a job that was planned anew may still list it: the job says which parcel it is in.
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel
    where (j.held_since is null or j.held_until <= v_now or j.kind = 'manual') and j.queue = v_parcel.queue
      and ((j.overlap is null and (j.deadline_ms is null or j.attempt > 0 or j.started_at is not null
        or j.due_at + j.deadline_ms * interval '1 millisecond' >= v_now)) or j.kind <> 'cadence');
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_parcel.occurrences) then
    perform carillon.set_aside(v_parcel, v_now);
    select array_agg(j.occurrence), array_agg(j.schedule_id) into v_occurrences, v_schedule_ids
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds) k (occurrence, schedule_id, kind)
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = 'cadence' and j.n = 0 and j.parcel_id = p_parcel
    where coalesce(k.kind, 'cadence') = 'cadence' and (j.overlap is not null
      or (j.attempt = 0 and j.started_at is null and j.due_at + j.deadline_ms * interval '1 millisecond' < v_now));
  end if;
  if v_occurrences is not null then
    return query
      select 'freed', 0, v_parcel.fence, v_now, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz,
        null::smallint, null::int, null::int, null::text, null::text, null::jsonb, null::jsonb, null::jsonb, f.id, f.queue
      from carillon.pass_lanes(v_parcel, v_occurrences, v_schedule_ids) f;
    -- Who is still in the parcel has passed, at the moment that is now the parcel's.
    select p.claimed_at into v_now from carillon.parcels p where p.id = p_parcel;
    return query
      select 'job', 0, v_parcel.fence, v_now, j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version,
        j.version, j.key, j.group_key, j.body, j.target, j.payload, null::bigint, null::carillon.queue_class
      from unnest(v_occurrences, v_schedule_ids) k (occurrence, schedule_id)
      join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
        and j.kind = 'cadence' and j.n = 0 and j.parcel_id = p_parcel;
    get diagnostics v_passed = row_count;
  end if;
  if v_count + v_passed = 0 then
    delete from carillon.parcels p where p.id = p_parcel;
    outcome := 'empty';
    return next;
  end if;
end $$;

-- As in 0008; what passed a lane leaves it, and the parcels whose turn has come by that come back to be sent too.
create or replace function carillon.settle_parcel(p_parcel bigint, p_fence int, p_occurrences timestamptz[] default null,
    p_schedule_ids bigint[] default null, p_kinds carillon.job_kind[] default null, p_ns int[] default null,
    p_outcomes text[] default null, p_retry_ms bigint[] default null, p_errors text[] default null, p_versions int[] default null)
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
begin
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
  else
    return query
    with results as (
      select r.*, v_now + case when r.outcome = 'retry' then r.retry_ms else 0 end * interval '1 millisecond' as again_at
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_retry_ms, p_errors, p_versions)
        r (occurrence, schedule_id, kind, n, outcome, retry_ms, error, version)
    ), packed as materialized (
      select r.outcome, date_bin('1 s', r.again_at, 'epoch') as second, max(r.again_at) as ready_at,
        nextval('carillon.parcels_id_seq') as id,
        array_agg(r.occurrence order by r.occurrence, r.schedule_id, r.kind, r.n) as occurrences,
        array_agg(r.schedule_id order by r.occurrence, r.schedule_id, r.kind, r.n) as schedule_ids,
        array_agg(r.kind order by r.occurrence, r.schedule_id, r.kind, r.n) as kinds,
        array_agg(r.n order by r.occurrence, r.schedule_id, r.kind, r.n) as ns
      from results r where r.outcome in ('retry', 'back') group by 1, 2
    ), updated as (
      update carillon.jobs j set
        state = case when r.outcome in ('retry', 'back') then 'waiting'::carillon.job_state else r.outcome::carillon.job_state end,
        attempt = j.attempt + case when r.outcome = 'back' then 0 else 1 end,
        parcel_id = p.id,
        ready_at = p.ready_at,
        version = case when r.outcome = 'back' then j.version else r.version end,
        started_at = case when r.outcome = 'back' then j.started_at else coalesce(j.started_at, v_parcel.claimed_at) end,
        finished_at = case when r.outcome in ('retry', 'back') then null else v_now end,
        reason = case when r.outcome = 'dead' then 'attempts' else j.reason end,
        error = coalesce(r.error, case when r.outcome = 'back' then j.error end)
      from results r left join packed p on p.outcome = r.outcome and p.second = date_bin('1 s', r.again_at, 'epoch')
      where j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
        and j.state = 'waiting' and j.parcel_id = p_parcel
      returning j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, r.outcome, r.error
    ), counted as (
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error)
      select u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, v_parcel.claimed_at, v_now,
        case when u.outcome = 'succeeded' then 'succeeded' else 'failed' end, u.error
      from updated u where u.outcome in ('retry', 'dead') or (u.outcome = 'succeeded' and u.attempt > 1)
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, occurrences, schedule_ids, kinds, ns)
    select p.id, v_parcel.shard, v_parcel.queue, p.ready_at, greatest(v_now + interval '20 seconds', p.ready_at - interval '150 seconds'),
      p.occurrences, p.schedule_ids, p.kinds, p.ns
    from packed p
    returning true, parcels.id, parcels.queue, parcels.ready_at;
  end if;

  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;

-- The safety net: whoever waits in a lane and has the turn, though nobody told. Looks at those that have waited longest since
-- somebody looked, without locking them before the lanes.
create function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcels bigint[];
  v_schedules bigint[];
begin
  select array_agg(p.id), array_agg(distinct p.schedule_ids[1]) into v_parcels, v_schedules
  from (select * from carillon.parcels where lane is not null and offer_at <= v_now order by offer_at limit p_max) p;
  looked := coalesce(cardinality(v_parcels), 0);
  return next;
  if looked = 0 then return; end if;
  perform carillon.lock_lanes(v_schedules);
  return query select 0, f.id, f.queue from carillon.free_lanes(v_schedules, v_now) f;
  update carillon.parcels p set offers = least(p.offers + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(p.offers, 5))
  where p.id = any(v_parcels) and p.lane is not null;
end $$;

revoke execute on function carillon.lane_of(bigint), carillon.lock_lanes(bigint[]), carillon.owes_before(bigint, timestamptz),
  carillon.lane_front(text), carillon.free_lanes(bigint[], timestamptz), carillon.pass_lanes(carillon.parcels, timestamptz[], bigint[]),
  carillon.leave_lanes(timestamptz[], bigint[], carillon.job_kind[], int[], timestamptz), carillon.claim_parcel(bigint, int),
  carillon.sweep_lanes(int) from public;
grant execute on function carillon.claim_parcel(bigint, int) to carillon_worker;
grant execute on function carillon.sweep_lanes(int),
  carillon.leave_lanes(timestamptz[], bigint[], carillon.job_kind[], int[], timestamptz) to carillon_tick;
grant execute on function carillon.lane_of(bigint), carillon.lock_lanes(bigint[]) to carillon_tick, carillon_api;
grant select, insert, delete on carillon.lane_entries to carillon_tick, carillon_api;
