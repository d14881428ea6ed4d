-- Claiming and settling a parcel. Functions for three reasons: each statement inside has a snapshot of its own (the look
-- at the schedules must come after the gate is ours), their plans are cached whatever stands between worker and database,
-- and the worker's role may run these two and touch nothing else.
--
-- Plans are generic and use indexes only, so that an empty or fresh partition never flips one. There is no range on
-- `occurrence` "for pruning": it made the planner scan a whole day per settle; pruning at run time needs none.

-- Jobs of a parcel that may not start here and now: cancelled where the schedule is deleted; parked in a parcel of their own
-- where it is held; moved where its target now belongs to the other queue, whose workers alone can deliver it (a few
-- together, as slow parcels are). Rare; called by claim_parcel under the gate.
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

  with aside as (
    select j.occurrence, j.schedule_id, j.kind, j.n, s.queue, case when s.held_since is not null and j.kind <> 'manual' then s.id end as held
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel.id
    join carillon.schedules s on s.id = k.schedule_id
    where s.deleted_at is null
      and ((s.held_since is not null and j.kind <> 'manual') or s.queue <> p_parcel.queue)
  ), seated as (
    select a.*, (row_number() over (partition by a.queue, a.held order by a.occurrence, a.schedule_id, a.kind, a.n) - 1) / 10 as seat from aside a
  ), packed as materialized (
    select nextval('carillon.parcels_id_seq') as id, queue, held, seat,
      array_agg(occurrence order by occurrence, schedule_id, kind, n) as occurrences,
      array_agg(schedule_id order by occurrence, schedule_id, kind, n) as schedule_ids,
      array_agg(kind order by occurrence, schedule_id, kind, n) as kinds,
      array_agg(n order by occurrence, schedule_id, kind, n) as ns
    from seated group by queue, held, seat
  ), inserted as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, occurrences, schedule_ids, kinds, ns)
    select id, p_parcel.shard, queue, case when held is null then p_now else 'infinity' end,
      case when held is null then p_now else 'infinity' end, held, occurrences, schedule_ids, kinds, ns
    from packed
  )
  update carillon.jobs j set parcel_id = p.id, ready_at = case when p.held is null then p_now else 'infinity' end
  from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n;
end $$;

-- Takes a parcel: one row a job that may start now, or one row that says why there is none:
-- `gone` (settled, split or unknown), `early` (with the time to wait), `leased`, `ended` (a lease ran out; the sweep will
-- split it), `held`, `empty` (nothing in it may start; the parcel is removed).
create function carillon.claim_parcel(p_parcel bigint, p_lease_ms int)
  returns table (outcome text, wait_ms int, fence int, claimed_at timestamptz, occurrence timestamptz, schedule_id bigint,
    kind carillon.job_kind, n int, due_at timestamptz, attempt smallint, planned_version int, version int, key text,
    group_key text, body jsonb, target jsonb, payload jsonb)
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
  update carillon.parcels p set fence = p.fence + 1, claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until
  where p.id = p_parcel and p.ready_at <= v_now and p.lease_until is null
  returning p.* into v_parcel;
  if not found then
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    if not found then outcome := 'gone';
    elsif v_parcel.held_schedule is not null then outcome := 'held';
    elsif v_parcel.lease_until >= v_now then outcome := 'leased';
    elsif v_parcel.lease_until is not null then outcome := 'ended';
    else
      outcome := 'early';
      wait_ms := ceil(least(extract(epoch from v_parcel.ready_at - v_now), 86400) * 1000);
    end if;
    return next;
    return;
  end if;
  return query
    select 'job', 0, v_parcel.fence, v_now, j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.version,
      -- The version that runs: the planned one, unless what is asked has changed since.
      greatest(j.version, s.spec_version),
      s.key, s.group_key, v.body, v.target, coalesce(j.payload, v.payload)
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    -- The old parcel of a job that was planned anew may still list it: the job says which parcel it is in.
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
    join carillon.schedules s on s.id = k.schedule_id
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.deleted_at is null and (s.held_since is null or j.kind = 'manual') and s.queue = v_parcel.queue;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_parcel.occurrences) then perform carillon.set_aside(v_parcel, v_now); end if;
  if v_count = 0 then
    delete from carillon.parcels p where p.id = p_parcel;
    outcome := 'empty';
    return next;
  end if;
end $$;

-- Writes each claimed job once, if the fence still holds, and removes the parcel. With p_outcomes null all succeeded, in
-- the versions they were planned in; else the arrays list every claimed job, with the version that ran: `succeeded`, `retry` (after p_retry_ms), `dead`, `back` (never started: no
-- attempt is counted). What is to be tried again goes into new parcels, which come back to be sent.
-- The first row says whether the fence held.
create function carillon.settle_parcel(p_parcel bigint, p_fence int, p_occurrences timestamptz[] default null,
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
    return;
  end if;

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
end $$;
