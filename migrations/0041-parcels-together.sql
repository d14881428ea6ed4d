-- carillon: back to 31
-- An invocation of the worker is given several messages. What a claim and a settle cost for each parcel, beside what they cost for each job (a
-- transaction, a dozen statements, a synced commit), is paid once for all of them.

-- Claims those of these parcels that are ready and all of whose jobs may start as they are: first their jobs, in any order, then a row for each parcel,
-- in which `occurrence` to `payload` are null. What is as it is of nearly every job is null, too: kind, n, when it is due, attempt and the planned
-- version. Of a parcel that is not told nothing is written that matters, and carillon.claim_parcel says what it is about.
create function carillon.claim_parcels(p_parcels bigint[], p_lease_ms int)
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
    update carillon.parcels p set fence = p.fence + 1, claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
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

-- Claims some of those that wait at the target of a parcel which is claimed, or could start there, for the same worker: as many as it may take along of
-- which every job may start as it is, those that wait in their order, and then those of its own priority that are ready. They take no place of their own
-- there: it works them in the places of that one, and settles it last. Rows as of carillon.claim_parcels. Nobody is waited for, neither an edit nor who
-- decides at the target about those that wait: what is locked is passed over.
create function carillon.claim_company(p_parcel bigint, p_fence int, p_most int, p_lease_ms int)
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
    select p.id, p.fence + 1 as fence, cardinality(p.occurrences) as size, p.turn is null as ready,
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
  update carillon.parcels p set turn = null, ready_at = v_now, fence = p.fence + 1, claimed_at = v_now,
    lease_until = v_now + p_lease_ms * interval '1 millisecond', offer_at = v_now + p_lease_ms * interval '1 millisecond', company = 1 + cardinality(v_ids)
  where p.id = any(v_ids);
  -- Nor is a handler waited for: without it, what its jobs cost is taken for a little more than it was.
  update carillon.parcels p set company = 1 + cardinality(v_ids)
  where p.id = (select h.id from carillon.parcels h where h.id = p_parcel for update skip locked);
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence);
end $$;

-- Settles those of these parcels that are held by these fences and of which nothing is to be said but that all their jobs have succeeded.
-- carillon.settle_parcel says what it is about with the others. Rows of what is settled, and then of targets at which somebody may wait for a place that
-- has become free: whoever asks gives it away with carillon.leave_places, for to decide about turns one has the target locked, and here that would be
-- until the disk has all this.
create function carillon.settle_parcels(p_parcels bigint[], p_fences int[], p_notify text[])
  returns table (settled bigint, left_target int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_gone carillon.parcels[];
  v_claim record;
  v_left int;
begin
  with locked as materialized (
    select p.id from unnest(p_parcels, p_fences) m (id, fence) join carillon.parcels p on p.id = m.id and p.fence = m.fence
    where (p.target_id is null or p.queue = 'slow') and p.laned is not true and p.owed is not true and p.pulse_at is null
    order by p.id for update of p
  ), gone as (
    delete from carillon.parcels p using locked l where p.id = l.id returning p
  )
  select array_agg(g.p) into v_gone from gone g;
  for v_claim in
    select c.claimed_at, array_agg(distinct c.id) as ids, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from unnest(v_gone) c cross join lateral unnest(c.occurrences, c.schedule_ids) k (occurrence, schedule_id)
    group by c.claimed_at
  loop
    perform carillon.write_successes(v_claim.ids, v_claim.claimed_at, false, v_claim.occurrences, v_claim.schedule_ids, v_now, p_notify);
  end loop;
  insert into carillon.target_work (target_id, jobs, ms)
  select c.target_id, sum(cardinality(c.occurrences)),
    sum(greatest(0, extract(epoch from v_now - c.claimed_at)) * 1000 * carillon.places_of(c, cardinality(c.occurrences)))
  from unnest(v_gone) c where c.queue = 'slow' and c.target_id is not null group by c.target_id;
  return query select c.id, null::int from unnest(v_gone) c;
  for v_left in select distinct c.target_id from unnest(v_gone) c where c.target_id is not null and c.slots is not null order by 1 loop
    if not carillon.nobody_waits(v_left) then return query select null::bigint, v_left; end if;
  end loop;
end $$;

-- Whose turn has come at a target where places have become free, to be sent. What the disk loses of it, the sweep does again.
create function carillon.leave_places(p_target int) returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return query select * from carillon.next_turns(p_target);
end $$;

revoke execute on function carillon.claim_parcels(bigint[], int), carillon.claim_company(bigint, int, int, int),
  carillon.settle_parcels(bigint[], int[], text[]), carillon.leave_places(int) from public;
grant execute on function carillon.claim_parcels(bigint[], int), carillon.claim_company(bigint, int, int, int),
  carillon.settle_parcels(bigint[], int[], text[]), carillon.leave_places(int) to carillon_worker;
