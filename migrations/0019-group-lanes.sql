-- Lanes of groups: serial schedules of a group, of whatever shard and target, deliver one job at a time in due order; a grouped handler
-- gets all due jobs of a group together and alone. A job may pass two lanes, that of its schedule and that of its group, and passes
-- both at once or none: so nobody who is inside waits for somebody who is not.

alter table carillon.targets
  -- Its handler takes all due jobs of a group at once.
  add column grouped boolean not null default false,
  -- Since when that is so, while schedules may not have followed it yet.
  add column regrouped_at timestamptz(3);

-- Read where a handler's trait changes: the schedules whose lanes follow.
create index schedules_grouping on carillon.schedules (target_id, id) where group_key is not null and target_kind = 'handler';

-- The lane of a schedule's jobs by its group; null for nearly all. A grouped handler needs no `serial`.
create function carillon.lane_for(p_target text, p_group text, p_serial boolean) returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_group is null then null
      when exists (select from carillon.targets t where t.name = p_target and t.grouped) then 'grouped/' || substr(p_target, 9) || '/' || p_group
      when p_serial then 'group/' || p_group end
  $$;

-- What the handlers of a deployment say of themselves; who says it last is believed. Written only where it is new.
create function carillon.note_grouped(p_targets text[], p_grouped boolean[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.targets (name, grouped)
    select h.name, h.grouped from unnest(p_targets, p_grouped) h (name, grouped)
    where not exists (select from carillon.targets t where t.name = h.name and t.grouped = h.grouped)
    order by h.name
    on conflict (name) do update set grouped = excluded.grouped, regrouped_at = carillon.clock()
      where targets.grouped <> excluded.grouped
  $$;

-- The lanes that a job of a schedule passes, in the order in which it waits for them.
create function carillon.lanes_of(p_schedule bigint, p_kind carillon.job_kind) returns table (lane text, place int)
  language sql stable
  as $$
    select l.lane, l.place
    from carillon.schedules s cross join lateral (values
      (case when s.overlap is not null and p_kind = 'cadence' then carillon.lane_of(s.id) end, 1), (s.lane, 2)) l (lane, place)
    where s.id = p_schedule and l.lane is not null
    -- Asked of each in turn: joined, it would be a walk through all schedules.
    offset 0
  $$;

-- One at a time decides in a lane. (Class 4: see lib/db/locks.ts. Of schedules sixteen keys a shard; of groups, which are in all
-- shards, keys below zero. Ascending, whoever asks. Whoever names a schedule has the lane of its group as well.)
drop function carillon.lock_lanes(bigint[]);

create function carillon.lock_lanes(p_schedules bigint[], p_lanes text[] default null) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_key int;
begin
  for v_key in select (select s.shard * 16 from carillon.schedules s where s.id = k.id) + (hashtext(carillon.lane_of(k.id)) & 15)
               from unnest(p_schedules) k (id)
               union select -1 - (hashtext(s.lane) & 1023) from carillon.schedules s where s.id = any(p_schedules) and s.lane is not null
               union select -1 - (hashtext(l.lane) & 1023) from unnest(p_lanes) l (lane) where l.lane is not null
               order by 1 loop
    perform pg_advisory_xact_lock(4, v_key);
  end loop;
end $$;

-- Whose turn it is in a lane in which one follows the other: the first of those inside (one, unless jobs overlapped before that was
-- forbidden), else the first of all. Nobody waits for what is deleted, for what is held and not under a lease, nor in a group for another
-- schedule's job that itself waits until an earlier one is made.
drop function carillon.free_lanes(bigint[], timestamptz);
drop function carillon.lane_front(text);

create function carillon.lane_front(p_lane text, p_now timestamptz)
  returns table (occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    with inside as materialized (
      select e.*, j.parcel_id, j.leased
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id, p.lease_until is not null as leased
        from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id left join carillon.parcels p on p.id = j.parcel_id
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
          and (p.lease_until is not null or (coalesce(s.deleted_at, 'infinity') = 'infinity'
            and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual'))) offset 0) j
      where e.lane = p_lane and e.entered
    )
    (select i.occurrence, i.schedule_id, i.kind, i.n, i.parcel_id, not exists (
        select from inside o
        where o.leased and (o.occurrence, o.schedule_id, o.kind, o.n) <> (i.occurrence, i.schedule_id, i.kind, i.n))
      from inside i order by i.due_at, i.occurrence, i.schedule_id, i.kind, i.n limit 1)
    union all
    (select e.occurrence, e.schedule_id, e.kind, e.n, j.parcel_id,
        e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence)
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id
        from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
          and coalesce(s.deleted_at, 'infinity') = 'infinity'
          and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j
      where e.lane = p_lane and not exists (select from inside)
        and (p_lane like 'schedule/%' or e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence))
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1)
  $$;

-- Whether jobs of a grouped handler's lane run, in another parcel than this one. What is tried again later is in nobody's way.
create function carillon.lane_is_busy(p_lane text, p_parcel bigint) returns boolean
  language sql stable
  as $$
    select exists (
      select from carillon.lane_entries e cross join lateral (
        select from carillon.jobs j
        join carillon.parcels p on p.id = j.parcel_id and p.lease_until is not null and p.id is distinct from p_parcel
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting' offset 0) j
      where e.lane = p_lane and e.entered)
  $$;

-- Of those that wait in a grouped handler's lane the first, if nobody runs: its claim brings the others along.
create function carillon.grouped_front(p_lane text, p_now timestamptz) returns table (parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    select j.parcel_id, true
    from carillon.lane_entries e cross join lateral (
      select j.parcel_id
      from carillon.jobs j join carillon.parcels p on p.id = j.parcel_id and p.lane = p_lane join carillon.schedules s on s.id = j.schedule_id
      where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
        and coalesce(s.deleted_at, 'infinity') = 'infinity'
        and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j
    where e.lane = p_lane and e.due_at <= p_now and not carillon.lane_is_busy(p_lane, null)
    order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1
  $$;

-- Lets go of the one whose turn it is, where it waits for that. The lanes are locked. Returns the parcels to be sent.
create function carillon.free_lanes(p_lanes text[], p_now timestamptz) returns table (id bigint, queue carillon.queue_class)
  language sql volatile
  as $$
    update carillon.parcels p set lane = null, ready_at = p_now, offer_at = p_now + interval '20 seconds', offers = 0
    from unnest(p_lanes) l (lane) cross join lateral (
      select f.parcel_id, f.may_pass from carillon.lane_front(l.lane, p_now) f where l.lane not like 'grouped/%'
      union all
      select f.parcel_id, f.may_pass from carillon.grouped_front(l.lane, p_now) f where l.lane like 'grouped/%') f
    where p.id = f.parcel_id and p.lane = l.lane and f.may_pass
    returning p.id, p.queue
  $$;

-- For edits, which have locked the lanes.
create function carillon.hand_over_lanes(p_lanes text[]) returns table (id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
begin
  return query select f.id, f.queue from carillon.free_lanes(p_lanes, carillon.clock()) f;
end $$;

-- After these jobs were written: those that are settled leave their lanes, those of grouped handlers that are not go on without one, and
-- the next ones are let go.
create or replace function carillon.leave_lanes(p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[], p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
  v_lanes text[];
  v_moved text;
begin
  select array_agg(distinct k.schedule_id) filter (where l.place = 1), array_agg(distinct l.lane) filter (where l.place = 2)
  into v_schedules, v_lanes
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  cross join lateral carillon.lanes_of(k.schedule_id, coalesce(k.kind, 'cadence')) l;
  if v_schedules is null and v_lanes is null then return; end if;
  perform carillon.lock_lanes(v_schedules, v_lanes);
  -- An edit may have had the lanes, and have moved a job to another one. That is locked out of turn, so nobody is waited for; whom
  -- it would have let go the sweep finds.
  for v_moved in
    select distinct l.lane
    from unnest(p_schedule_ids, p_kinds) k (schedule_id, kind) cross join lateral carillon.lanes_of(k.schedule_id, coalesce(k.kind, 'cadence')) l
    where l.place = 2 and l.lane <> all(coalesce(v_lanes, '{}'))
  loop
    if pg_try_advisory_xact_lock(4, -1 - (hashtext(v_moved) & 1023)) then v_lanes := v_lanes || v_moved; end if;
  end loop;
  v_lanes := coalesce(v_lanes, '{}') || array(select carillon.lane_of(s.id) from unnest(v_schedules) s (id));

  with own as materialized (
    select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, j.state = 'waiting' as waits
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0)
    cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
    where l.lane = any(v_lanes)
  ), outside as (
    update carillon.lane_entries e set entered = false from own o
    where o.waits and o.lane like 'grouped/%' and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  )
  delete from carillon.lane_entries e using own o
  where not o.waits and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
    and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n;
  return query select f.id, f.queue from carillon.free_lanes(v_lanes, p_now) f;
end $$;

-- Brings the due jobs that wait in a grouped handler's lane, wherever they are, into a claimed parcel that has passed it. Whose
-- shard is being edited comes later, and so does one with a rule of its own for overlaps: its lane is not ours.
create function carillon.gather_group(p_parcel carillon.parcels, p_lane text, p_now timestamptz, p_max int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint;
  v_shards smallint[] := array[p_parcel.shard];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- Together with the others it may have killed its worker.
  if p_parcel.alone then return; end if;
  for v_shard in
    select distinct (select s.shard from carillon.schedules s where s.id = e.schedule_id)
    from (select e.schedule_id from carillon.lane_entries e where e.lane = p_lane and e.due_at <= p_now
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit p_max * 2) e
  loop
    -- Out of the order of locks, so nobody is waited for. (Class 2: the gate.)
    if v_shard <> p_parcel.shard and pg_try_advisory_xact_lock_shared(2, v_shard) then v_shards := v_shards || v_shard; end if;
  end loop;

  select array_agg(g.occurrence), array_agg(g.schedule_id), array_agg(g.kind), array_agg(g.n)
  into v_occurrences, v_schedule_ids, v_kinds, v_ns
  from (
    select e.occurrence, e.schedule_id, e.kind, e.n
    from carillon.lane_entries e
    join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
      and j.state = 'waiting' and j.parcel_id <> p_parcel.id and coalesce(j.ready_at, j.due_at) <= p_now
    join carillon.schedules s on s.id = j.schedule_id and s.lane = e.lane and s.queue = p_parcel.queue and s.shard = any(v_shards)
      and coalesce(s.deleted_at, 'infinity') = 'infinity' and (s.held_since is null or s.held_until <= p_now or j.kind = 'manual')
      and (j.kind <> 'cadence' or (s.overlap is null and (s.deadline_ms is null or j.attempt > 0 or j.started_at is not null or j.forgiven is not null
        or j.due_at + s.deadline_ms * interval '1 millisecond' >= p_now)))
    where e.lane = p_lane and e.due_at <= p_now
      and not exists (select from carillon.parcels p where p.id = j.parcel_id and (p.lease_until is not null or p.held_schedule is not null or p.alone))
    order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n
    limit p_max
    for no key update of j skip locked) g;
  if v_occurrences is null then return; end if;

  with taken as materialized (
    select j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.parcel_id
    from unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
  ), unparked as (
    delete from carillon.parcels p using taken t where p.id = t.parcel_id and p.lane = p_lane
  ), entering as (
    update carillon.lane_entries e set entered = true from taken t
    where e.lane = p_lane and e.due_at = t.due_at and e.occurrence = t.occurrence and e.schedule_id = t.schedule_id and e.kind = t.kind and e.n = t.n
  ), listed as (
    select k.occurrence, k.schedule_id, coalesce(k.kind, 'cadence') as kind, coalesce(k.n, 0) as n
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = p_parcel.id
    union
    select occurrence, schedule_id, kind, n from taken
  ), packed as (
    select array_agg(occurrence) as occurrences, array_agg(schedule_id) as schedule_ids, array_agg(kind) as kinds, array_agg(n) as ns from listed
  ), filled as (
    update carillon.parcels p set occurrences = k.occurrences, schedule_ids = k.schedule_ids, kinds = k.kinds, ns = k.ns
    from packed k where p.id = p_parcel.id
  )
  update carillon.jobs j set parcel_id = p_parcel.id from taken t
  where j.occurrence = t.occurrence and j.schedule_id = t.schedule_id and j.kind = t.kind and j.n = t.n;
end $$;

-- Those jobs of a claimed parcel that may not simply start: late ones, and those that pass lanes. Who may not start leaves the parcel,
-- skipped or to wait for its turn in a parcel of its own. Called by claim_parcel under the gate, after set_aside. Returns the parcels
-- of those in the same lanes whose turn has come by that.
create or replace function carillon.pass_lanes(p_parcel carillon.parcels, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
  v_lanes text[];
  v_lane text;
  v_now timestamptz;
begin
  select array_agg(distinct k.schedule_id) filter (where l.place = 1), array_agg(distinct l.lane) filter (where l.place = 2)
  into v_schedules, v_lanes
  from unnest(p_schedule_ids, p_kinds) k (schedule_id, kind) cross join lateral carillon.lanes_of(k.schedule_id, k.kind) l;
  -- Before anything is decided: a settle may have the lane at this moment, and what starts after it starts later than it.
  perform carillon.lock_lanes(v_schedules, v_lanes);
  v_now := carillon.clock();

  with late as (
    select j.occurrence, j.schedule_id, j.due_at, j.parcel_id
    from unnest(p_occurrences, p_schedule_ids, p_kinds) k (occurrence, schedule_id, kind)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.deadline_ms from carillon.schedules s where s.id = j.schedule_id offset 0) s
    where k.kind = 'cadence' and j.attempt = 0 and j.started_at is null and j.forgiven is null and j.due_at + s.deadline_ms * interval '1 millisecond' < v_now
    union all
    -- And what has become late while it waited for the same lanes; without a bound a long queue would be one long transaction.
    select l.occurrence, l.schedule_id, l.due_at, l.parcel_id
    from unnest(v_schedules) v (id) cross join lateral (
      select s.deadline_ms from carillon.schedules s where s.id = v.id offset 0) s cross join lateral (
      select e.occurrence, e.schedule_id, e.due_at, j.parcel_id
      from carillon.lane_entries e
      join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting' and j.attempt = 0 and j.started_at is null and j.forgiven is null
      join carillon.parcels p on p.id = j.parcel_id and p.lane is not null
      where e.lane = carillon.lane_of(v.id) and e.due_at < v_now - s.deadline_ms * interval '1 millisecond'
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 100) l
  ), unparked as (
    delete from carillon.parcels p using late l where p.id = l.parcel_id and p.lane is not null
  ), gone as (
    delete from carillon.lane_entries e using late l cross join lateral carillon.lanes_of(l.schedule_id, 'cadence') o
    where e.lane = o.lane and e.due_at = l.due_at and e.occurrence = l.occurrence
      and e.schedule_id = l.schedule_id and e.kind = 'cadence' and e.n = 0
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'late', parcel_id = null, ready_at = null, finished_at = v_now
    from late l where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = 'cadence' and j.n = 0
    returning j.occurrence, j.schedule_id, j.kind, j.n
  )
  insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
  select 'skipped', s.occurrence, s.schedule_id, s.kind, s.n, 0, v_now, v_now, carillon.passed_alone(s.occurrence, 'late')
  from skipped s where (select carillon.tells('skipped'));
  if v_schedules is null and v_lanes is null then return; end if;

  insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
  select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
    and j.state = 'waiting' and j.parcel_id = p_parcel.id
  cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
  on conflict do nothing;

  with places as materialized (
    select l.lane, l.place, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, e.entered,
      s.overlap = 'skip' and j.attempt = 0 and j.started_at is null and not e.entered as may_skip
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.overlap from carillon.schedules s where s.id = j.schedule_id offset 0) s
    cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
    join carillon.lane_entries e on e.lane = l.lane and e.due_at = j.due_at
      and e.occurrence = j.occurrence and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n
  ), fronts as materialized (
    select l.lane, f.occurrence, f.schedule_id, f.kind, f.n
    from (select distinct lane from places where lane not like 'grouped/%') l cross join lateral carillon.lane_front(l.lane, v_now) f
    where f.may_pass
  ), free as materialized (
    select l.lane from (select distinct lane from places where lane like 'grouped/%') l where not carillon.lane_is_busy(l.lane, p_parcel.id)
  ), judged as materialized (
    select p.*, p.lane in (select lane from free) or exists (
      select from fronts f where f.lane = p.lane and (f.occurrence, f.schedule_id, f.kind, f.n) = (p.occurrence, p.schedule_id, p.kind, p.n)) as open
    from places p
  ), own as materialized (
    select due_at, occurrence, schedule_id, kind, n, bool_and(open) as passes,
      (array_agg(lane order by place) filter (where not open))[1] as waits_in,
      coalesce(bool_or(may_skip and not open) filter (where place = 1), false) as skippable
    from judged group by 1, 2, 3, 4, 5
  ), entering as (
    update carillon.lane_entries e set entered = true from own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), outlived as (
    -- Whoever enters finds nobody inside and nobody before that counts: of these entries some are of jobs that are no more.
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) < (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
      and not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')
  ), outlived_inside as (
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane and e.entered
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) > (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
      and not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')
  ), marked as (
    update carillon.parcels p set laned = true, claimed_at = v_now, lease_until = p.lease_until + (v_now - p.claimed_at),
      offer_at = p.lease_until + (v_now - p.claimed_at)
    where p.id = p_parcel.id and exists (select from own o where o.passes)
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'overlap', parcel_id = null, ready_at = null, finished_at = v_now from own o
    where not o.passes and o.skippable and j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
    returning j.occurrence, j.schedule_id, j.kind, j.n
  ), told as (
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
    select 'skipped', s.occurrence, s.schedule_id, s.kind, s.n, 0, v_now, v_now, carillon.passed_alone(s.occurrence, 'overlap')
    from skipped s where (select carillon.tells('skipped'))
  ), gone as (
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where not o.passes and o.skippable and e.lane = p.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), parked as materialized (
    select nextval('carillon.parcels_id_seq') as id, o.* from own o where not o.passes and not o.skippable
  ), inserted as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, target_id, priority, owed, alone, occurrences, schedule_ids, kinds, ns)
    select p.id, p_parcel.shard, p_parcel.queue, 'infinity', v_now + interval '1 minute', p.waits_in, p_parcel.target_id, p_parcel.priority,
      p_parcel.owed, p_parcel.alone, array[p.occurrence], array[p.schedule_id], array[p.kind], array[p.n]
    from parked p
  )
  update carillon.jobs j set parcel_id = p.id from parked p
  where j.occurrence = p.occurrence and j.schedule_id = p.schedule_id and j.kind = p.kind and j.n = p.n;

  for v_lane in
    select distinct j.lane
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.parcel_id = p_parcel.id and j.lane like 'grouped/%'
  loop
    perform carillon.gather_group(p_parcel, v_lane, v_now, greatest(0, 250 - cardinality(p_parcel.occurrences)));
  end loop;

  v_lanes := coalesce(v_lanes, '{}') || array(select carillon.lane_of(s.id) from unnest(v_schedules) s (id));
  return query select f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;
end $$;

drop function carillon.pass_lanes(carillon.parcels, timestamptz[], bigint[]);

-- As in 0011, of whatever lane.
create or replace function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
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
  v_groups text[];
  v_lanes text[];
begin
  select array_agg(p.id), array_agg(distinct p.schedule_ids[1]) filter (where p.lane like 'schedule/%'),
    array_agg(distinct p.lane) filter (where p.lane not like 'schedule/%'), array_agg(distinct p.lane)
  into v_parcels, v_schedules, v_groups, v_lanes
  from (select * from carillon.parcels where lane is not null and offer_at <= v_now order by offer_at limit p_max) p;
  looked := coalesce(cardinality(v_parcels), 0);
  return next;
  if looked = 0 then return; end if;
  perform carillon.lock_lanes(v_schedules, v_groups);
  return query select 0, f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;
  update carillon.parcels p set offers = least(p.offers + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(p.offers, 5))
  where p.id = any(v_parcels) and p.lane is not null;
end $$;

revoke execute on function carillon.lane_for(text, text, boolean), carillon.note_grouped(text[], boolean[]),
  carillon.lanes_of(bigint, carillon.job_kind), carillon.lock_lanes(bigint[], text[]), carillon.lane_front(text, timestamptz),
  carillon.lane_is_busy(text, bigint), carillon.grouped_front(text, timestamptz), carillon.free_lanes(text[], timestamptz),
  carillon.hand_over_lanes(text[]), carillon.gather_group(carillon.parcels, text, timestamptz, int)
  from public;
grant execute on function carillon.lane_for(text, text, boolean), carillon.lanes_of(bigint, carillon.job_kind),
  carillon.lock_lanes(bigint[], text[]), carillon.hand_over_lanes(text[])
  to carillon_tick, carillon_api, carillon_handler;
grant execute on function carillon.note_grouped(text[], boolean[]) to carillon_api, carillon_handler;
grant update on carillon.lane_entries to carillon_tick, carillon_api, carillon_handler;
grant select on carillon.targets to carillon_handler;
grant update (regrouped_at) on carillon.targets to carillon_tick;
grant update (lane) on carillon.schedules to carillon_tick;
