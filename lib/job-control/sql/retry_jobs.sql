-- Retries the given jobs that are dead or cancelled, or that wait in a parcel that is gone: nothing else
-- would start these. Jobs in any other state are left as they are.
-- A retried job runs with the current settings of its schedule and with all attempts that these allow. It is
-- ready after p_after_ms, or at once if that is null, but not before it is due. Jobs of one shard, target and
-- priority that are ready within the same two seconds share parcels of at most p_fast_max or p_slow_max jobs.
-- With p_owed they are let in slowly, as the backlog is.
-- Locks: the gates of the schedules shared, ascending; then the jobs, by key; then their rows in dead_jobs.
-- The caller needs no lock.
-- Returns: one row for each given job, with `became`: `retried`; `unsettled` (neither dead nor cancelled, and
-- in no lost parcel); `deleted` (its schedule is); or `missing`. The other rows have no `became`: they are
-- parcels to send, with the time at which they are ready.
-- Called by: retryOnce in lib/job-control/retry-jobs.ts, reopen in lib/move/arrive-jobs.ts.
create or replace function carillon.retry_jobs(p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[],
    p_after_ms bigint[], p_owed boolean, p_fast_max int, p_slow_max int)
  returns table (became text, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, id bigint,
    queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- Keeps deletes out until this transaction commits. A schedule that was deleted before is seen as deleted.
  perform carillon.share_gates(p_schedule_ids);
  select array_agg(l.occurrence), array_agg(l.schedule_id), array_agg(l.kind), array_agg(l.n)
  into v_occurrences, v_schedule_ids, v_kinds, v_ns
  from (
    select j.occurrence, j.schedule_id, j.kind, j.n
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and (j.state in ('dead', 'cancelled') or (j.state = 'waiting' and not exists (select from carillon.parcels p where p.id = j.parcel_id)))
    where (select s.deleted_at from carillon.schedules s where s.id = k.schedule_id) is null
    order by 1, 2, 3, 4 for update of j) l;
  -- Two retries may both have found the parcel of a job gone. The second has waited for the row of the job,
  -- and sees the new parcel from here on.
  select array_agg(j.occurrence), array_agg(j.schedule_id), array_agg(j.kind), array_agg(j.n)
  into v_occurrences, v_schedule_ids, v_kinds, v_ns
  from unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
  where j.state <> 'waiting' or not exists (select from carillon.parcels p where p.id = j.parcel_id);
  v_now := carillon.clock();

  return query
    select case when r.n is not null then 'retried' when j.state is null then 'missing' when s.deleted_at is not null then 'deleted' else 'unsettled' end,
      k.occurrence, k.schedule_id, k.kind, k.n, null::bigint, null::carillon.queue_class, null::timestamptz
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    left join unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) r (occurrence, schedule_id, kind, n)
      on r.occurrence = k.occurrence and r.schedule_id = k.schedule_id and r.kind = k.kind and r.n = k.n
    left join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
    left join carillon.schedules s on s.id = k.schedule_id;

  return query
    with due as (
      select j.occurrence, j.schedule_id, j.kind, j.n, s.shard, s.queue, s.priority, s.team_id, carillon.apart_target(s.queue, s.target_id) as target_id, s.spec_version as version,
        w.place,
        greatest(j.due_at, v_now + coalesce(w.after_ms, 0) * interval '1 millisecond') as ready_at
      from unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) k (occurrence, schedule_id, kind, n)
      join unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_after_ms) with ordinality w (occurrence, schedule_id, kind, n, after_ms, place)
        on w.occurrence = k.occurrence and w.schedule_id = k.schedule_id and w.kind = k.kind and w.n = k.n
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      join carillon.schedules s on s.id = j.schedule_id
    ), seated as (
      select d.*, date_bin('2 s', d.ready_at, 'epoch') as step,
        (row_number() over (partition by d.shard, d.queue, d.target_id, d.priority, date_bin('2 s', d.ready_at, 'epoch') order by d.place) - 1)
          / case d.queue when 'fast' then p_fast_max else p_slow_max end as seat
      from due d
    ), packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, d.shard, d.queue, d.target_id, d.priority, carillon.one_team(array_agg(d.team_id)) as team_id, max(d.ready_at) as ready_at,
        array_agg(d.occurrence order by d.place) as occurrences, array_agg(d.schedule_id order by d.place) as schedule_ids,
        array_agg(d.kind order by d.place) as kinds, array_agg(d.n order by d.place) as ns, array_agg(d.version order by d.place) as versions
      from seated d group by d.shard, d.queue, d.target_id, d.priority, d.step, d.seat
    ), retried as (
      update carillon.jobs j set state = 'waiting', parcel_id = p.id, ready_at = p.ready_at, finished_at = null, reason = null, forgiven = j.attempt,
        -- A recheck of an older version would not be started any more: it goes on as one of the current
        -- version.
        version = greatest(j.version, p.versions[k.place]), cancel_asked = null
      from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) with ordinality k (occurrence, schedule_id, kind, n, place)
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
    ), alive as (
      delete from carillon.dead_jobs d using unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) k (occurrence, schedule_id, kind, n)
      where d.occurrence = k.occurrence and d.schedule_id = k.schedule_id and d.kind = k.kind and d.n = k.n
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, priority, team_id, owed, occurrences, schedule_ids, kinds, ns)
    select p.id, p.shard, p.queue, p.ready_at, greatest(v_now + interval '20 seconds', p.ready_at - interval '150 seconds'), p.target_id, p.priority, p.team_id,
      case when p_owed then true end, p.occurrences, p.schedule_ids, p.kinds, p.ns
    from packed p
    returning null::text, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, parcels.id, parcels.queue, parcels.ready_at;
end $$;
