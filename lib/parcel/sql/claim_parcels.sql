-- Claims those of these fast parcels that are ready and whose jobs may all start as they are, with one
-- statement for a batch of messages. Parcels with a target or of pulses, and those with a job that needs a
-- closer look (a lane, a deadline, a hold, a target with limits), are left to carillon.claim_parcel.
-- The commit does not wait for the disk. A claim lost with the machine leaves a parcel that is sent again,
-- and its jobs run at least once. Settles wait for the disk.
-- Locks: the gates of the ready parcels (class 2), shared and ascending; then the parcels by id, with skip
-- locked.
-- Returns: first the jobs, in any order: kind, n, due_at, attempt and planned_version are null where they are
-- `cadence`, 0, the occurrence, 0 and the version. Then one row for each claimed parcel, with fence and
-- claimedAt in `more` and null in occurrence to payload. A parcel without a row of its own is not claimed:
-- ignore its job rows.
-- Called by: claimTogether in lib/parcel/claim-together.ts.
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
  -- The gates of the ready parcels (class 2), shared and ascending, as an edit of several shards takes them.
  v_gates := array(select distinct p.shard from carillon.parcels p where p.id = any(p_parcels) and p.ready_at <= v_now order by 1);
  perform pg_advisory_xact_lock_shared(2, g.shard) from unnest(v_gates) g (shard);
  v_now := carillon.clock();
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  with locked as materialized (
    select p.id from carillon.parcels p
    -- A parcel that has become ready or free since counts only behind a gate that is held.
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

  -- No job here is in a lane, so a lost claim only means that its jobs are run again.
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
  -- The worker claims each of these alone at once. If the worker dies before, the tick sends them again.
  if v_short <> '{}' then
    update carillon.parcels p set claimed_at = null, lease_until = null, offer_at = v_now + interval '1 minute' where p.id = any(v_short);
  end if;
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence) where c.id <> all (v_short);
end $$;
