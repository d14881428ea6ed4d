-- carillon: back to 31
-- Every table of the hot path says which shard a row belongs to, as schedules, plan, parcels and backlog do, so that many servers could share
-- them out by it and have together what one tick, claim, settle or edit touches (docs/scale.md).

-- Last in each, and in `jobs` where the row has room left over: a waiting job takes as many bytes as before. Null in rows that are older, in
-- those that the previous release writes while it runs on, and in the attempts of both; nothing reads it yet. A check that it is there comes when
-- no release leaves it out any more.
alter table carillon.jobs add column shard smallint;
alter table carillon.jobs_beside add column shard smallint;
alter table carillon.attempts add column shard smallint;
alter table carillon.dead_jobs add column shard smallint;
alter table carillon.failure_runs add column shard smallint;
alter table carillon.wanted_holds add column shard smallint;
alter table carillon.schedule_versions add column shard smallint;
alter table carillon.holds add column shard smallint;
alter table carillon.passed_over add column shard smallint;

-- All of these parcels' jobs, claimed at one moment, have succeeded.
create function carillon.write_successes(p_parcels bigint[], p_claimed_at timestamptz, p_owed boolean, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_now timestamptz, p_notify text[])
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_from timestamptz;
  v_to timestamptz;
begin
  select min(o), max(o) into v_from, v_to from unnest(p_occurrences) o;
  with updated as (
    update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, parcel_id = null, ready_at = null, error = null,
      started_at = coalesce(j.started_at, p_claimed_at), finished_at = p_now
    -- By the two lists, as they are claimed.
    where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.state = 'waiting' and j.parcel_id = any(p_parcels)
      and j.occurrence >= v_from and j.occurrence <= v_to
    returning j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, j.due_at, j.shard
  ), tallied as (
    -- Most jobs of a parcel are due at the same instant: by those first, and their few buckets then.
    insert into carillon.tallies (at, succeeded, late_buckets, late_jobs)
    select p_now, sum(t.jobs), array_agg(t.bucket) filter (where t.bucket is not null), array_agg(t.jobs) filter (where t.bucket is not null)
    from (
      select case when d.first and p_owed is not true then carillon.lateness_bucket(p_claimed_at - d.due_at) end as bucket, sum(d.jobs)::int as jobs
      from (select u.due_at, u.attempt = 1 as first, count(*) as jobs from updated u group by 1, 2) d group by 1
    ) t having count(*) > 0
  ), told as (
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'succeeded', u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, p_now, p_now + interval '30 seconds'
    from updated u where 'succeeded' = any(p_notify)
  )
  insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, shard)
  select u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, p_claimed_at, p_now, 'succeeded', u.shard
  from updated u where u.attempt > 1;
  -- Nearly always there is none at all.
  if exists (select from carillon.failure_runs) then
    delete from carillon.failure_runs f using unnest(p_schedule_ids) k (schedule_id) where f.schedule_id = k.schedule_id;
  end if;
end $$;

revoke execute on function carillon.write_successes(bigint[], timestamptz, boolean, timestamptz[], bigint[], timestamptz, text[]) from public;

-- As before, and with the shard in each row that they write. A job that a group has taken into its call may be of another shard than the parcel:
-- so it is the job's, or its schedule's, and not the parcel's.

create or replace function carillon.settle_parcel(p_parcel bigint, p_fence int, p_notify text[] default null, p_occurrences timestamptz[] default null,
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
    perform carillon.write_successes(array[p_parcel], v_parcel.claimed_at, v_parcel.owed, v_parcel.occurrences, v_parcel.schedule_ids, v_now, p_notify);
  else
    return query select true, w.id, w.queue, w.ready_at
      from carillon.write_outcomes(v_parcel, v_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors,
        p_classes, p_stacks, p_reasons, p_holds, p_versions, p_notify, false) w;
  end if;

  if v_parcel.target_id is not null then
    if v_parcel.queue = 'slow' then
      insert into carillon.target_work (target_id, jobs, ms)
      select v_parcel.target_id, w.jobs,
        greatest(0, extract(epoch from v_now - v_parcel.claimed_at)) * 1000 * carillon.places_of(v_parcel, w.jobs::int)
      from (select cardinality(v_parcel.occurrences) - cardinality(array_positions(coalesce(p_outcomes, '{}'), 'back')) as jobs) w
      where w.jobs > 0;
    end if;
    return query select true, f.id, f.queue, f.ready_at from carillon.leave_target(v_parcel, v_now) f;
  end if;
  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;

create or replace function carillon.write_outcomes(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
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
        case when j.started_at is null and r.outcome <> 'back' and p_parcel.owed is not true then p_parcel.claimed_at - j.due_at end as late,
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
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, stack, shard)
      select r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_parcel.claimed_at,
        case when r.outcome = 'crashed' then least(p_parcel.lease_until, p_now) else p_now end,
        case when r.outcome = 'crashed' or (r.becomes = 'dead' and r.class = 'LeaseEnded') then 'crashed'
          when r.outcome = 'cancelled' then 'cancelled' when r.becomes = 'succeeded' then 'succeeded' else 'failed' end,
        r.error, r.class, r.stack, r.shard
      from results r where r.outcome <> 'back' and (r.becomes <> 'succeeded' or r.attempt > 1)
    ), died as (
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, shard)
      select r.occurrence, r.schedule_id, r.kind, r.n, p_now, r.shard from results r where r.becomes = 'dead'
      on conflict do nothing
    ), tallied as (
      insert into carillon.tallies (at, succeeded, dead, late_buckets, late_jobs)
      select p_now, sum(t.succeeded), sum(t.dead), array_agg(t.bucket) filter (where t.bucket is not null), array_agg(t.late) filter (where t.bucket is not null)
      from (
        select carillon.lateness_bucket(r.late) as bucket, count(*) filter (where r.becomes = 'succeeded') as succeeded,
          count(*) filter (where r.becomes = 'dead') as dead, count(r.late)::int as late
        from results r group by 1
      ) t having count(t.bucket) > 0 or sum(t.succeeded) > 0 or sum(t.dead) > 0
    ), told as (
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
      select e.event, r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_now, p_now + interval '30 seconds',
        case when e.event = 'dead' then jsonb_build_object('reason', coalesce(r.reason, 'attempts')) end
      from results r cross join lateral (values
        (case when r.becomes = 'succeeded' then 'succeeded' when r.becomes = 'dead' then 'dead' end),
        (case when r.outcome in ('retry', 'crashed', 'dead') then 'failed' end)) e (event)
      where e.event = any(p_notify)
    ), dead_runs as (
      select r.schedule_id, r.shard, max(r.version) as version, max(r.hold_after) as hold_after, count(*)::int as dead
      from results r where r.becomes = 'dead' and r.hold_after is not null and not r.outdated group by r.schedule_id, r.shard
    ), runs as (
      insert into carillon.failure_runs (schedule_id, failures, shard) select d.schedule_id, d.dead, d.shard from dead_runs d order by d.schedule_id
      on conflict (schedule_id) do update set failures = failure_runs.failures + excluded.failures
      returning schedule_id, failures
    ), broken as (
      delete from carillon.failure_runs f using results r
      where f.schedule_id = r.schedule_id and r.becomes = 'succeeded' and r.hold_after is not null
        and not exists (select from dead_runs d where d.schedule_id = r.schedule_id)
    ), unwanted as (
      insert into carillon.wanted_holds (schedule_id, version, at, reason, shard)
      select r.schedule_id, max(r.version), p_now, min(r.hold), r.shard from results r where r.hold is not null group by r.schedule_id, r.shard
      union all
      select d.schedule_id, d.version, p_now, f.failures || ' jobs in a row are dead.', d.shard
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

create or replace function carillon.end_lease(p_parcel bigint, p_attempts int, p_notify text[])
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

  if v_parcel.pulse_at is not null then
    if coalesce(v_parcel.pulse_tries, 0) + 1 < carillon.pulse_tries_max() then
      update carillon.parcels p set fence = p.fence + 1, claimed_at = null, lease_until = null, ready_at = v_now, offers = 1,
        offer_at = v_now + interval '1 minute', pulse_tries = coalesce(p.pulse_tries, 0) + 1
      where p.id = p_parcel;
      return query select true, p_parcel, v_parcel.queue, v_now;
    else
      delete from carillon.parcels p where p.id = p_parcel;
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, reason)
      select v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, t.id, 'crashed' from unnest(coalesce(v_parcel.pulse_targets, array[null::int])) t (id);
    end if;
    return;
  end if;

  for v_alone in
    select j.occurrence, j.schedule_id, j.kind, j.n, s.shard, carillon.version_tried(j, s) as version, j.attempt + 1 as attempt, j.cancel_asked,
      case when j.started_at is null and v_parcel.owed is not true then v_parcel.claimed_at - j.due_at end as late,
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
      company = null, ready_at = v_now, offers = 1, offer_at = v_now + interval '1 minute', shard = v_alone.shard,
      occurrences = array[v_alone.occurrence], schedule_ids = array[v_alone.schedule_id], kinds = array[v_alone.kind], ns = array[v_alone.n]
    where p.id = p_parcel;
    update carillon.jobs j set attempt = v_alone.attempt, started_at = coalesce(j.started_at, v_parcel.claimed_at), error = v_error,
      ready_at = v_now, version = v_alone.version
    where j.occurrence = v_alone.occurrence and j.schedule_id = v_alone.schedule_id and j.kind = v_alone.kind and j.n = v_alone.n;
    if v_alone.late is not null then
      insert into carillon.tallies (at, late_buckets, late_jobs) values (v_now, array[carillon.lateness_bucket(v_alone.late)], array[1]);
    end if;
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, shard)
    values (v_alone.occurrence, v_alone.schedule_id, v_alone.kind, v_alone.n, v_alone.attempt, v_parcel.claimed_at, v_parcel.lease_until,
      'crashed', v_error, 'LeaseEnded', v_alone.shard);
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

create or replace function carillon.make_rechecks(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
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
      insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version, kind, n, checks, payload, root_occurrence, root_kind, root_n,
        shard)
      values (v_recheck.at, v_recheck.schedule_id, v_recheck.at, v_recheck.parcel, v_recheck.version, 'again', v_n, v_recheck.checks,
        v_recheck.payload, v_recheck.root_occurrence, v_recheck.root_kind, v_recheck.root_n, v_recheck.shard)
      on conflict do nothing;
      exit when found;
      v_n := v_n + 1;
    end loop;
    insert into carillon.jobs_beside (occurrence, schedule_id, kind, n, shard)
    values (v_recheck.at, v_recheck.schedule_id, 'again', v_n, v_recheck.shard);
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
