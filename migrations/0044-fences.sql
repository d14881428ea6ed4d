-- carillon: back to 31
-- A claim is not waited for until the disk has it. A database that crashes may come back without it, and with the fence that the parcel had before. A
-- counter then gives the next claim the number that the lost claim was given, and the worker of the lost claim settles under the lease of the next one. So
-- a fence is taken from the server's clock, which goes on while the database is down.

-- The fence of a claim, after p_last: the milliseconds since 1970, modulo 2^31, which is 24 days; workers keep a fence in 32 bits. Where the last fence is
-- equal or up to a second ahead, as of claims within one millisecond, it is one more than the last. So a parcel gets none twice within 24 days, and no
-- worker lives so long. Zero is the fence of a parcel that has not been claimed. carillon.clock() would not do: a test may hold it still.
create function carillon.next_fence(p_last int) returns int
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select greatest(1, case when p_last > 0 and (p_last - c.ms) & 2147483647 < 1000 then (p_last + 1::bigint) & 2147483647 else c.ms end)::int
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint & 2147483647 as ms) c
  $$;

revoke execute on function carillon.next_fence(int) from public;

-- As in 0035, but for the fence.
create or replace function carillon.claim_parcel(p_parcel bigint, p_lease_ms int, p_window int default null)
  returns table (outcome text, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_shard smallint;
  v_ready_at timestamptz;
  v_leased_until timestamptz;
  v_slow_target int;
  v_now timestamptz;
  v_lease_until timestamptz;
  v_parcel carillon.parcels;
  v_count int;
  v_passed int := 0;
  v_slots int;
  v_had_turn boolean;
  v_from timestamptz;
  v_to timestamptz;
  v_limited int[];
  v_entered record;
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- The answer where there is no job: the other columns stay null.
  outcome := 'gone';
  select p.shard, case when p.lease_until is null then p.ready_at end, case p.queue when 'slow' then p.target_id end, p.lease_until
  into v_shard, v_ready_at, v_slow_target, v_leased_until
  from carillon.parcels p where p.id = p_parcel;
  if not found then
    return next;
    return;
  end if;
  -- Most messages come a little before their time: to say so needs no gate, behind which an edit may be at work.
  v_now := carillon.clock();
  -- Nor does it need one to say that somebody has it.
  if v_leased_until >= v_now then
    outcome := 'leased';
    return next;
    return;
  end if;
  if v_ready_at > v_now and v_ready_at < 'infinity' then
    outcome := 'early';
    more := jsonb_build_object('waitMs', ceil(least(extract(epoch from v_ready_at - v_now), 86400) * 1000));
    if v_slow_target is not null then
      -- Whoever waits has its hands free: it is told of one that stands ready there.
      more := more || jsonb_build_object('insteadId', (select r::text from carillon.ready_parcels(v_slow_target, v_now, 1) r));
    end if;
    return next;
    return;
  end if;
  -- The gate, shared: an edit of this shard either committed before this line, and the look below sees it, or waits. (Class 2.)
  perform pg_advisory_xact_lock_shared(2, v_shard);
  v_now := carillon.clock();
  if v_slow_target is not null and v_ready_at <= v_now and carillon.wait_where_full(p_parcel, v_slow_target, p_window, v_now) then
    outcome := 'held';
    more := jsonb_build_object('insteadId', carillon.granted_parcel(v_slow_target, 'slow', v_now)::text);
    return next;
    return;
  end if;
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  update carillon.parcels p set fence = carillon.next_fence(p.fence), claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
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
  if v_parcel.pulse_at is not null then
    if v_parcel.pulse_tries is null and v_parcel.pulse_every is null and v_parcel.pulse_at < v_now - interval '2 minutes' then
      delete from carillon.parcels p where p.id = p_parcel;
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, reason) values (v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, 'late');
      outcome := 'empty';
    else
      outcome := 'pulses';
      more := jsonb_build_object('fence', v_parcel.fence, 'claimedAt', v_now, 'shard', v_parcel.shard, 'second', extract(epoch from v_parcel.pulse_at)::bigint,
        'targets', v_parcel.pulse_targets, 'every', v_parcel.pulse_every, 'schedule', v_parcel.pulse_schedule::text,
        'lastTry', coalesce(v_parcel.pulse_tries, 0) + 1 >= carillon.pulse_tries_max());
    end if;
    return next;
    return;
  end if;
  v_limited := array(select t.id from carillon.targets t where t.concurrency is not null or t.rate_count is not null);
  if v_parcel.target_id is null and v_parcel.queue = 'slow' then
    -- Made without a look at where its jobs go: it is the first one's, and the others will leave it.
    update carillon.parcels p set target_id = f.target_id
    from (select j.target_id from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      -- As carillon.startable has them, each by its key: with one wanted, the planner may walk through all schedules, or all versions of one, until it meets it.
      cross join lateral (
        select s.target_id from carillon.jobs j cross join lateral (select s.* from carillon.schedules s where s.id = j.schedule_id offset 0) s
        where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
          and j.parcel_id = p_parcel and j.state = 'waiting' and coalesce(s.deleted_at, 'infinity') = 'infinity'
          and (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version)
        offset 0) j
      limit 1) f
    where p.id = p_parcel and f.target_id is not null returning p.* into v_entered;
    if found then v_parcel := v_entered; end if;
  end if;
  if v_parcel.target_id is not null then
    v_had_turn := v_parcel.turn = 'granted';
    for v_entered in select e.* from carillon.enter_target(v_parcel, p_window, v_now) e loop
      outcome := v_entered.outcome;
      more := case outcome when 'held' then jsonb_build_object('insteadId', v_entered.freed::text)
        else carillon.freed_details(v_entered.wait_ms, v_entered.freed, v_entered.freed_queue) end;
      v_slots := v_entered.slots;
      if outcome <> 'enter' then return next; end if;
    end loop;
    if outcome <> 'enter' then return; end if;
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    v_now := v_parcel.claimed_at;
  end if;
  select min(o), max(o) into v_from, v_to from unnest(v_parcel.occurrences) o;
  perform carillon.join_lists(true);
  return query
    select 'job', j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version, j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(array[p_parcel], v_parcel.occurrences, v_parcel.schedule_ids, v_from, v_to, v_parcel.queue, v_parcel.target_id, v_limited, v_now) j
    order by j.occurrence, j.schedule_id, j.kind, j.n;
  get diagnostics v_count = row_count;
  perform carillon.join_lists(false);
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
    cross join lateral (
      select j.* from carillon.startable j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.parcel_id = p_parcel
      offset 0) j
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
      cross join lateral (
        select j.* from carillon.startable j
        where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
          and j.parcel_id = p_parcel
        offset 0) j
      where j.lane is not null or (j.kind = 'cadence' and j.overlap is not null);
    get diagnostics v_passed = row_count;
  end if;
  if v_count + v_passed = 0 then
    delete from carillon.parcels p where p.id = p_parcel;
    -- A place that was taken just now, where nothing but the share bounds the target, nobody has waited for; and its lock is held shared.
    if v_had_turn or v_parcel.target_id = any(v_limited) then
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
  more := jsonb_build_object('fence', v_parcel.fence, 'claimedAt', v_now, 'slots', v_slots,
    'company', case when v_slots is not null then carillon.company_of(v_parcel) end);
  return next;
end $$;

-- As in 0041, but for the fence.
create or replace function carillon.claim_parcels(p_parcels bigint[], p_lease_ms int)
  returns table (parcel bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_gates smallint[];
  v_lease_until timestamptz;
  v_ids bigint[];
  v_fences int[];
  v_sizes int[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_from timestamptz;
  v_to timestamptz;
  v_limited int[];
  v_count int;
  v_short bigint[] := '{}';
begin
  -- The gates of those that are ready, shared and in their order, as an edit of several shards passes them. (Class 2.)
  v_gates := array(select distinct p.shard from carillon.parcels p where p.id = any(p_parcels) and p.ready_at <= v_now order by 1);
  perform pg_advisory_xact_lock_shared(2, g.shard) from unnest(v_gates) g (shard);
  v_now := carillon.clock();
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  with locked as materialized (
    select p.id from carillon.parcels p
    -- What has become ready or free since, only behind a gate that is passed.
    where p.id = any(p_parcels) and p.shard = any(v_gates) and p.ready_at <= v_now and p.lease_until is null and p.queue = 'fast'
      and p.target_id is null and p.pulse_at is null
    order by p.id for update skip locked
  ), claimed as (
    update carillon.parcels p set fence = carillon.next_fence(p.fence), claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
    from locked l where p.id = l.id
    returning p.id, p.fence, p.occurrences, p.schedule_ids
  )
  select p.ids, p.fences, p.sizes, l.first, l.last, l.occurrences, l.schedule_ids
  into v_ids, v_fences, v_sizes, v_from, v_to, v_occurrences, v_schedule_ids
  from (select array_agg(c.id) as ids, array_agg(c.fence) as fences, array_agg(cardinality(c.occurrences)) as sizes from claimed c) p
  cross join (
    select min(k.occurrence) as first, max(k.occurrence) as last, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from claimed c cross join lateral unnest(c.occurrences, c.schedule_ids) k (occurrence, schedule_id)
  ) l;
  if v_ids is null then return; end if;

  -- A lease is not worth waiting for the disk: lost with the machine, it leaves a parcel that is offered again, whose jobs run at least once. They are
  -- of no lane, and what settles them is waited for.
  perform set_config('synchronous_commit', 'off', true);
  v_limited := array(select t.id from carillon.targets t where t.concurrency is not null or t.rate_count is not null);
  perform carillon.join_lists(true);
  return query
    select j.parcel_id, j.occurrence, j.schedule_id, nullif(j.kind, 'cadence'), nullif(j.n, 0), nullif(j.due_at, j.occurrence), nullif(j.attempt, 0::smallint),
      nullif(j.planned_version, j.version), j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'fast', null, v_limited, v_now) j;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_occurrences) then
    select coalesce(array_agg(c.id), '{}') into v_short
    from unnest(v_ids, v_sizes) c (id, size)
    left join (
      select j.parcel_id, count(*) as jobs
      from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'fast', null, v_limited, v_now) j group by 1
    ) j on j.parcel_id = c.id
    where coalesce(j.jobs, 0) < c.size;
  end if;
  perform carillon.join_lists(false);
  -- Who asked claims it at once; should it die before, the tick offers it again.
  if v_short <> '{}' then
    update carillon.parcels p set claimed_at = null, lease_until = null, offer_at = v_now + interval '1 minute' where p.id = any(v_short);
  end if;
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence) where c.id <> all (v_short);
end $$;

-- As in 0041, but for the fence: it is taken once, where the parcels are chosen.
create or replace function carillon.claim_company(p_parcel bigint, p_fence int, p_most int, p_lease_ms int)
  returns table (parcel bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_head carillon.parcels;
  v_target carillon.targets;
  v_room int;
  v_next bigint[];
  v_gates smallint[];
  v_ids bigint[];
  v_fences int[];
  v_sizes int[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_from timestamptz;
  v_to timestamptz;
  v_count int;
begin
  -- Before the others: who ends its lease has it, and comes to want those that wait. Shared: handlers that are at work on it have it so.
  select p.* into v_head from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.lease_until >= v_now for share;
  select t.* into v_target from carillon.targets t where t.id = v_head.target_id and t.concurrency is null and t.rate_count is null;
  v_room := carillon.jobs_a_turn(v_target.cost_ms) - cardinality(v_head.occurrences);
  if v_room is null or v_room <= 0 then return; end if;
  -- More than are taken: others look for theirs at the same time.
  v_next := array(select d.id from carillon.due_turns(v_target.id, v_now, 4 * p_most) d);
  if cardinality(v_next) < 4 * p_most then
    v_next := v_next || array(select r from carillon.ready_parcels(v_target.id, v_now, 4 * p_most - cardinality(v_next)) r);
  end if;
  v_gates := array(
    select g.shard from (select distinct p.shard from carillon.parcels p where p.id = any(v_next) order by 1) g
    where pg_try_advisory_xact_lock_shared(2, g.shard));
  v_now := carillon.clock();
  with free as materialized (
    select p.id, carillon.next_fence(p.fence) as fence, cardinality(p.occurrences) as size, p.turn is null as ready,
      coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)) as place, p.occurrences, p.schedule_ids
    from carillon.parcels p
    where p.id = any(v_next) and p.shard = any(v_gates) and p.queue = 'slow' and cardinality(p.occurrences) <= v_room
      and (coalesce(p.turn, 'granted') = 'waits'
        or (p.turn is null and p.lease_until is null and p.ready_at <= v_now and coalesce(p.priority, 0) = coalesce(v_head.priority, 0)))
      and coalesce(p.lane, '') = '' and coalesce(p.held_schedule, 0) = 0 and p.owed is not true and p.alone is not true
    order by p.turn is null, coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)), p.id limit p_most for update skip locked
  ), fitting as materialized (
    select f.* from (select f.*, sum(f.size) over (order by f.ready, f.place, f.id) as jobs from free f) f where f.jobs <= v_room
  )
  select p.ids, p.fences, p.sizes, l.first, l.last, l.occurrences, l.schedule_ids
  into v_ids, v_fences, v_sizes, v_from, v_to, v_occurrences, v_schedule_ids
  from (select array_agg(f.id) as ids, array_agg(f.fence) as fences, array_agg(f.size) as sizes from fitting f) p
  cross join (
    select min(k.occurrence) as first, max(k.occurrence) as last, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from fitting f cross join lateral unnest(f.occurrences, f.schedule_ids) k (occurrence, schedule_id)
  ) l;
  if v_ids is null then return; end if;

  perform set_config('synchronous_commit', 'off', true);
  perform carillon.join_lists(true);
  return query
    select j.parcel_id, j.occurrence, j.schedule_id, nullif(j.kind, 'cadence'), nullif(j.n, 0), nullif(j.due_at, j.occurrence), nullif(j.attempt, 0::smallint),
      nullif(j.planned_version, j.version), j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'slow', v_target.id, '{}', v_now) j;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_occurrences) then
    -- Those that are not as they should be go on waiting: whose turn comes is looked at by itself.
    select array_agg(c.id), array_agg(c.fence) into v_ids, v_fences
    from unnest(v_ids, v_fences, v_sizes) c (id, fence, size)
    join (
      select j.parcel_id, count(*) as jobs
      from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'slow', v_target.id, '{}', v_now) j group by 1
    ) j on j.parcel_id = c.id and j.jobs = c.size;
  end if;
  perform carillon.join_lists(false);
  if v_ids is null then return; end if;
  update carillon.parcels p set turn = null, ready_at = v_now, fence = c.fence, claimed_at = v_now,
    lease_until = v_now + p_lease_ms * interval '1 millisecond', offer_at = v_now + p_lease_ms * interval '1 millisecond', company = 1 + cardinality(v_ids)
  from unnest(v_ids, v_fences) c (id, fence) where p.id = c.id;
  -- Nor is a handler waited for: without it, what its jobs cost is taken for a little more than it was.
  update carillon.parcels p set company = 1 + cardinality(v_ids)
  where p.id = (select h.id from carillon.parcels h where h.id = p_parcel for update skip locked);
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence);
end $$;
