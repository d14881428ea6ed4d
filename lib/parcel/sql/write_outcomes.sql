-- Writes the outcomes of those of these jobs that are still in the parcel, with their attempts, tallies,
-- events for the bus (p_notify) and wanted holds. The parcel itself, its place at the target and its lanes
-- are left to the caller.
-- Outcomes: `succeeded`; `again` (succeeded, and a recheck at p_at); `retry` (at p_at, or after p_retry_ms);
-- `dead`; `cancelled`; `crashed` (a retry at once, noted as a crash); `back` (it never started, and no
-- attempt is counted). A job that was asked to be cancelled is cancelled instead of tried again.
-- Jobs that are to be tried again go into new parcels, those of one shard and second together, or with
-- p_alone each into its own. p_started_ms and p_ended_ms say how many milliseconds before p_told_at the target of
-- each job began and ended; null: not known, and it ended now. A backoff counts from that end. A group handler
-- may have taken jobs of other shards along, so each written row gets the shard of its own job. A failed attempt
-- and a dead job get their error group (carillon.note_errors).
-- Locks: the jobs, and rows of failure_runs. The caller holds the parcel's row and, if an outcome is `again`,
-- the gates of the schedules shared.
-- Returns: the new parcels, to be sent: retries, jobs handed back, rechecks.
-- Called by: carillon.settle_parcel, carillon.settle_some, carillon.settle_job, carillon.end_lease,
-- carillon.end_lease_of_some.
create or replace function carillon.write_outcomes(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[], p_retry_ms bigint[], p_errors text[],
    p_classes text[], p_stacks text[], p_reasons text[], p_holds text[], p_versions int[], p_notify text[], p_alone boolean, p_started_ms int[] default null,
    p_ended_ms int[] default null, p_told_at timestamptz default null)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_groups text[];
  v_again record;
begin
  if p_outcomes && array['retry', 'crashed', 'dead'] then
    v_groups := carillon.note_errors(p_occurrences, p_schedule_ids, p_outcomes, p_errors, p_classes);
  end if;
  -- Before they are written: a settle that is repeated because its answer was lost makes no second recheck.
  if 'again' = any(p_outcomes) then
    select array_agg(r.occurrence) as occurrences, array_agg(r.schedule_id) as schedule_ids, array_agg(r.kind) as kinds, array_agg(r.n) as ns,
      array_agg(r.at) as ats into v_again
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at) r (occurrence, schedule_id, kind, n, outcome, at)
    join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
    where r.outcome = 'again';
  end if;
  return query
    with results as materialized (
      select r.occurrence, r.schedule_id, r.kind, r.n, r.error, r.class, r.stack, r.reason, r.hold, r.version, r.error_group, s.shard, s.team_id, s.hold_after,
        j.attempt + case when r.outcome = 'back' then 0 else 1 end as attempt,
        case when j.started_at is null and r.outcome <> 'back' and p_parcel.owed is not true then p_parcel.claimed_at - j.due_at end as late,
        case when j.cancel_asked and r.outcome in ('retry', 'crashed', 'back') then 'cancelled' when r.outcome = 'again' then 'succeeded'
          when r.outcome in ('crashed', 'back') then 'retry' else r.outcome end as becomes,
        r.outcome, c.crashed, case when c.crashed then least(p_parcel.lease_until, p_now) else o.ended_at end as ended_at, o.target_ms,
        greatest(p_now, case when r.outcome = 'retry' then coalesce(r.at, o.ended_at + r.retry_ms * interval '1 millisecond') end) as again_at,
        -- Edited or deleted since: the job gets no recheck, and a dead one counts for no hold.
        s.deleted_at is not null or coalesce(s.fresh_version, 1) > r.version as outdated,
        case when p_alone then row_number() over (order by r.occurrence, r.schedule_id, r.kind, r.n) else 0 end as seat
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors, p_classes, p_stacks, p_reasons, p_holds, p_versions,
          p_started_ms, p_ended_ms, v_groups)
        r (occurrence, schedule_id, kind, n, outcome, at, retry_ms, error, class, stack, reason, hold, version, started_ms, ended_ms, error_group)
      cross join lateral carillon.own_times(p_parcel.claimed_at, coalesce(p_told_at, p_now), p_now, r.started_ms, r.ended_ms) o
      -- With p_alone no worker has settled the job: its lease has ended.
      cross join lateral (select r.outcome = 'crashed' or (p_alone and r.outcome = 'dead') as crashed) c
      join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
      join carillon.schedules s on s.id = r.schedule_id
    ), packed as materialized (
      select r.shard, r.outcome = 'back' as back, date_bin('1 s', r.again_at, 'epoch') as second, r.seat, max(r.again_at) as ready_at,
        nextval('carillon.parcels_id_seq') as id, carillon.one_team(array_agg(r.team_id)) as team_id,
        array_agg(r.occurrence order by r.occurrence, r.schedule_id, r.kind, r.n) as occurrences,
        array_agg(r.schedule_id order by r.occurrence, r.schedule_id, r.kind, r.n) as schedule_ids,
        array_agg(r.kind order by r.occurrence, r.schedule_id, r.kind, r.n) as kinds,
        array_agg(r.n order by r.occurrence, r.schedule_id, r.kind, r.n) as ns
      from results r where r.becomes = 'retry' group by 1, 2, 3, 4
    ), updated as (
      update carillon.jobs j set
        state = case r.becomes when 'retry' then 'waiting'::carillon.job_state else r.becomes::carillon.job_state end,
        attempt = r.attempt,
        parcel_id = coalesce(p.id, j.parcel_id),
        ready_at = p.ready_at,
        version = case when r.outcome = 'back' then j.version else r.version end,
        started_at = case when r.outcome = 'back' then j.started_at else coalesce(j.started_at, p_parcel.claimed_at) end,
        target_ms = case when r.outcome = 'back' or j.started_at is not null then j.target_ms else r.target_ms end,
        finished_at = case when r.becomes <> 'retry' then r.ended_at end,
        reason = case when r.becomes = 'dead' then coalesce(r.reason, 'attempts') when r.becomes = 'cancelled' then 'requested'
          when r.outcome = 'again' and r.outdated then 'superseded' else j.reason end,
        error = coalesce(r.error, case when r.outcome in ('back', 'cancelled') then j.error end),
        cancel_asked = null
      from results r left join packed p
        on p.shard = r.shard and p.back = (r.outcome = 'back') and p.second = date_bin('1 s', r.again_at, 'epoch') and p.seat = r.seat and r.becomes = 'retry'
      where j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
    ), counted as (
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, stack, error_group, shard,
        parcel_id, target_ms)
      select r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_parcel.claimed_at, r.ended_at,
        case when r.crashed then 'crashed' when r.outcome = 'cancelled' then 'cancelled' when r.becomes = 'succeeded' then 'succeeded' else 'failed' end,
        r.error, r.class, r.stack, r.error_group, r.shard, p_parcel.id, r.target_ms
      from results r where r.outcome <> 'back' and (r.becomes <> 'succeeded' or r.attempt > 1)
    ), died as (
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, reason, error_group, shard, team_id)
      select r.occurrence, r.schedule_id, r.kind, r.n, p_now, coalesce(r.reason, 'attempts'), r.error_group, r.shard, coalesce(r.team_id, 0)
      from results r where r.becomes = 'dead'
      on conflict do nothing
    ), tallied as (
      insert into carillon.tallies (at, succeeded, failed, dead, late_buckets, late_jobs)
      select p_now, sum(t.succeeded), sum(t.failed), sum(t.dead), array_agg(t.bucket) filter (where t.bucket is not null),
        array_agg(t.late) filter (where t.bucket is not null)
      from (
        select carillon.lateness_bucket(r.late) as bucket, count(*) filter (where r.becomes = 'succeeded') as succeeded,
          count(*) filter (where r.outcome in ('retry', 'crashed', 'dead')) as failed, count(*) filter (where r.becomes = 'dead') as dead,
          count(r.late)::int as late
        from results r group by 1
      ) t having count(t.bucket) > 0 or sum(t.succeeded) > 0 or sum(t.failed) > 0
    ), told as (
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
      select e.event, r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_now, p_now + interval '30 seconds',
        case when e.event = 'dead' then jsonb_build_object('reason', coalesce(r.reason, 'attempts')) end
      from results r cross join unnest(p_notify) e (event)
      where case e.event when 'failed' then r.outcome in ('retry', 'crashed', 'dead') when 'succeeded' then r.becomes = 'succeeded'
        when 'dead' then r.becomes = 'dead' end
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
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, team_id, owed, alone, made_at, occurrences,
      schedule_ids, kinds, ns)
    select p.id, p.shard, p_parcel.queue, p.ready_at, greatest(p_now + interval '20 seconds', p.ready_at - interval '150 seconds'),
      -- A job that never started keeps its turn at the target.
      p_parcel.target_id, case when p.back then p_parcel.turn_at end, p_parcel.priority, p.team_id, p_parcel.owed,
      case when p.back and (p_alone or p_parcel.alone) then true end, case when p.back then p_parcel.made_at else p_now end, p.occurrences,
      p.schedule_ids, p.kinds, p.ns
    from packed p
    returning parcels.id, parcels.queue, parcels.ready_at;

  if 'again' = any(p_outcomes) then
    return query select * from carillon.make_rechecks(p_parcel, p_now, v_again.occurrences, v_again.schedule_ids, v_again.kinds, v_again.ns, v_again.ats);
  end if;
end $$;
