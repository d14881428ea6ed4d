-- Claiming and settling a parcel. Functions for three reasons: each statement inside has a snapshot of its own (the look
-- at the schedules must come after the gate is ours), their plans are cached whatever stands between worker and database,
-- and the worker's role may run these two and touch nothing else.
--
-- Plans are generic and use indexes only, so that an empty or fresh partition never flips one. There is no range on
-- `occurrence` "for pruning": it made the planner scan a whole day per settle; pruning at run time needs none.

-- Jobs of a parcel that may not start now: cancelled where the schedule is deleted, parked in a parcel of their own
-- where it is held. Rare; called by claim_parcel under the gate.
create function carillon.set_aside(p_parcel carillon.parcels, p_now timestamptz) returns void
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

  with held as (
    select j.occurrence, j.schedule_id, j.kind, j.n
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel.id
    join carillon.schedules s on s.id = k.schedule_id
    where s.held_since is not null and s.deleted_at is null and j.kind <> 'manual'
  ), parked as (
    insert into carillon.parcels (shard, queue, ready_at, offer_at, held_schedule, occurrences, schedule_ids, kinds, ns)
    select p_parcel.shard, p_parcel.queue, 'infinity', 'infinity', h.schedule_id,
      array_agg(h.occurrence order by h.occurrence, h.kind, h.n), array_agg(h.schedule_id),
      array_agg(h.kind order by h.occurrence, h.kind, h.n), array_agg(h.n order by h.occurrence, h.kind, h.n)
    from held h group by h.schedule_id
    returning id, held_schedule
  )
  update carillon.jobs j set parcel_id = parked.id, ready_at = 'infinity'
  from held h join parked on parked.held_schedule = h.schedule_id
  where j.occurrence = h.occurrence and j.schedule_id = h.schedule_id and j.kind = h.kind and j.n = h.n;
end $$;

-- Takes a parcel: one row a job that may start now, or one row that says why there is none:
-- `gone` (settled, split or unknown), `early` (with the time to wait), `leased`, `ended` (a lease ran out; the sweep will
-- split it), `held`, `empty` (nothing in it may start; the parcel is removed).
create function carillon.claim_parcel(p_parcel bigint, p_lease_ms int)
  returns table (outcome text, wait_ms int, fence int, claimed_at timestamptz, occurrence timestamptz, schedule_id bigint,
    kind carillon.job_kind, n int, due_at timestamptz, attempt smallint, version int, key text, group_key text,
    body jsonb, target jsonb, payload jsonb)
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
begin
  select p.shard into v_shard from carillon.parcels p where p.id = p_parcel;
  if not found then
    return query select 'gone', 0, 0, null::timestamptz, null::timestamptz, null::bigint, null::carillon.job_kind, 0,
      null::timestamptz, null::smallint, 0, null::text, null::text, null::jsonb, null::jsonb, null::jsonb;
    return;
  end if;
  -- The gate, shared: an edit of this shard either committed before this line, and the look below sees it, or waits. (Class 2.)
  perform pg_advisory_xact_lock_shared(2, v_shard);
  v_now := carillon.clock();
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  update carillon.parcels p set fence = p.fence + 1, claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until
  where p.id = p_parcel and p.ready_at <= v_now and p.lease_until is null
  returning p.* into v_parcel;
  if not found then
    return query select
      case when p.id is null then 'gone' when p.held_schedule is not null then 'held' when p.lease_until >= v_now then 'leased'
        when p.lease_until is not null then 'ended' else 'early' end,
      case when p.lease_until is null and p.held_schedule is null
        then ceil(least(extract(epoch from p.ready_at - v_now), 86400) * 1000)::int else 0 end,
      0, null::timestamptz, null::timestamptz, null::bigint, null::carillon.job_kind, 0,
      null::timestamptz, null::smallint, 0, null::text, null::text, null::jsonb, null::jsonb, null::jsonb
    from (select 1) one left join carillon.parcels p on p.id = p_parcel;
    return;
  end if;
  return query
    select 'job', 0, v_parcel.fence, v_now, j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.version,
      s.key, s.group_key, v.body, v.target, coalesce(j.payload, v.payload)
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    -- The old parcel of a job that was planned anew may still list it: the job says which parcel it is in.
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
    join carillon.schedules s on s.id = k.schedule_id
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.deleted_at is null and (s.held_since is null or j.kind = 'manual');
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_parcel.occurrences) then perform carillon.set_aside(v_parcel, v_now); end if;
  if v_count = 0 then
    delete from carillon.parcels p where p.id = p_parcel;
    return query select 'empty', 0, 0, null::timestamptz, null::timestamptz, null::bigint, null::carillon.job_kind, 0,
      null::timestamptz, null::smallint, 0, null::text, null::text, null::jsonb, null::jsonb, null::jsonb;
  end if;
end $$;

-- Writes each claimed job once, if the fence still holds, and removes the parcel. With p_outcomes null all succeeded;
-- else the arrays list every claimed job: `succeeded`, `retry` (after p_retry_ms), `dead`, `back` (never started: no
-- attempt is counted). What is to be tried again goes into new parcels, which come back to be sent.
-- The first row says whether the fence held.
create function carillon.settle_parcel(p_parcel bigint, p_fence int, p_occurrences timestamptz[] default null,
    p_schedule_ids bigint[] default null, p_kinds carillon.job_kind[] default null, p_ns int[] default null,
    p_outcomes text[] default null, p_retry_ms bigint[] default null, p_errors text[] default null)
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
    return;
  end if;

  return query
    with results as (
      select r.*, v_now + case when r.outcome = 'retry' then r.retry_ms else 0 end * interval '1 millisecond' as again_at
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_retry_ms, p_errors)
        r (occurrence, schedule_id, kind, n, outcome, retry_ms, error)
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
end $$;
