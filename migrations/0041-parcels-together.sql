-- carillon: back to 31
-- An invocation of the worker is given several messages. What a claim and a settle cost for each parcel, beside what they cost for each job (a
-- transaction, a dozen statements, a synced commit), is paid once for all of them.

-- Claims those of these parcels that are ready and all of whose jobs may start as they are: first their jobs, then a row for each parcel, in which
-- `occurrence` to `payload` are null. What is as it is of nearly every job is null, too: kind, n, when it is due, attempt and the planned version. Of a parcel
-- that is not told nothing is written that matters, and carillon.claim_parcel says what it is about.
create function carillon.claim_parcels(p_parcels bigint[], p_lease_ms int)
  returns table (parcel bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
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
  return query
    select j.parcel_id, j.occurrence, j.schedule_id, nullif(j.kind, 'cadence'), nullif(j.n, 0), nullif(j.due_at, j.occurrence), nullif(j.attempt, 0::smallint),
      nullif(j.planned_version, j.version), j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'fast', null, v_limited, v_now) j
    order by j.parcel_id, j.occurrence, j.schedule_id, j.kind, j.n;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_occurrences) then
    select coalesce(array_agg(c.id), '{}') into v_short
    from unnest(v_ids, v_sizes) c (id, size)
    left join (
      select j.parcel_id, count(*) as jobs
      from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'fast', null, v_limited, v_now) j group by 1
    ) j on j.parcel_id = c.id
    where coalesce(j.jobs, 0) < c.size;
    -- Who asked claims it at once; should it die before, the tick offers it again.
    update carillon.parcels p set claimed_at = null, lease_until = null, offer_at = v_now + interval '1 minute' where p.id = any(v_short);
  end if;
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence) where c.id <> all (v_short);
end $$;

-- Settles those of these parcels that are held by these fences, of which nothing is to be said but that all their jobs have succeeded, and that were
-- claimed at one moment. carillon.settle_parcel says what it is about with the others.
create function carillon.settle_parcels(p_parcels bigint[], p_fences int[], p_notify text[]) returns setof bigint
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_claimed_at timestamptz;
  v_ids bigint[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
begin
  select p.claimed_at into v_claimed_at from carillon.parcels p where p.id = p_parcels[1];
  with locked as materialized (
    select p.id from unnest(p_parcels, p_fences) m (id, fence) join carillon.parcels p on p.id = m.id and p.fence = m.fence
    where p.claimed_at = v_claimed_at and p.target_id is null and p.laned is not true and p.owed is not true and p.pulse_at is null
    order by p.id for update of p
  ), gone as (
    delete from carillon.parcels p using locked l where p.id = l.id returning p.id, p.occurrences, p.schedule_ids
  )
  select array_agg(distinct g.id), array_agg(k.occurrence), array_agg(k.schedule_id)
  into v_ids, v_occurrences, v_schedule_ids
  from gone g cross join lateral unnest(g.occurrences, g.schedule_ids) k (occurrence, schedule_id);
  if v_ids is not null then
    perform carillon.write_successes(v_ids, v_claimed_at, false, v_occurrences, v_schedule_ids, v_now, p_notify);
  end if;
  return query select unnest(v_ids);
end $$;

revoke execute on function carillon.claim_parcels(bigint[], int), carillon.settle_parcels(bigint[], int[], text[]) from public;
grant execute on function carillon.claim_parcels(bigint[], int), carillon.settle_parcels(bigint[], int[], text[]) to carillon_worker;
