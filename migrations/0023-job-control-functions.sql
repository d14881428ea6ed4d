-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Adds jobs to the count of an audit entry of a call that acts on many jobs. The caller's role may not change the
-- audit otherwise. Only a recent entry of such a call is changed.
-- Locks: the row of the entry, which no other call writes.
-- Returns: nothing.
-- Called by: noteJobs in lib/edit/note-jobs.ts.
create or replace function carillon.add_to_entry(p_at timestamptz, p_id bigint, p_jobs int) returns void
  language sql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    update carillon.audit a set detail = jsonb_set(a.detail, '{jobs}', to_jsonb((a.detail ->> 'jobs')::bigint + p_jobs))
    where a.at = p_at and a.id = p_id and a.action in ('jobs.cancelled', 'jobs.retried') and a.schedule_id is null
      and a.at > carillon.clock() - interval '10 minutes'
  $$;

-- Cancels the given jobs. A waiting job is cancelled at once. A job whose parcel is under a lease is asked to
-- stop: a settle does not retry it any more. A waiting job whose parcel is gone, deleted by hand or lost in a
-- restore, is cancelled as well.
-- A parcel without a waiting job is deleted, unless it is under a lease or was granted a turn at its target.
-- Cancelled jobs leave their lanes, and the next jobs of the lanes go on.
-- The lock order allows only one look at the parcels. A job that another transaction has put into another
-- parcel meanwhile is left as it is: the caller asks again, in a new transaction.
-- Locks: the gates of the schedules shared, ascending; the parcels that wait for no turn and in no lane, by
-- id; the targets at which the other parcels wait, ascending, and these parcels, by id; the lanes, and the
-- parcels that wait in them, by id; then the jobs; then the parcels that go on in these lanes. The caller
-- needs no lock.
-- Returns: one row for each given job, with `became`: `cancelled`; `asked`; `settled` (it no longer waits, or
-- its schedule is deleted and no worker has it); `missing`; or `moved` (ask again). The other rows have no `became`: they are
-- parcels to send, of jobs in the same lanes.
-- Called by: cancelJobsInside in lib/edit/cancel-jobs.ts.
create or replace function carillon.cancel_jobs(p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[])
  returns table (became text, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_parcels bigint[];
  v_laned bigint[];
  v_groups text[];
  v_targets int[];
  v_target int;
  v_turns bigint[];
  v_locked bigint[];
  v_waiting bigint[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
  v_became text[];
begin
  -- Keeps edits out: an edit locks jobs before parcels, and this function locks parcels before jobs.
  perform carillon.share_gates(p_schedule_ids);
  select array_agg(distinct j.parcel_id), array_agg(distinct s.id) filter (where s.overlap is not null or p.lane like 'schedule/%'),
    array_agg(distinct s.lane) filter (where s.lane is not null) || array_agg(distinct p.lane) filter (where p.lane not like 'schedule/%'),
    array_agg(distinct p.target_id) filter (where p.turn = 'waits'), array_agg(distinct p.id) filter (where p.turn = 'waits')
  into v_parcels, v_laned, v_groups, v_targets, v_turns
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n and j.state = 'waiting'
  join carillon.schedules s on s.id = j.schedule_id
  left join carillon.parcels p on p.id = j.parcel_id;
  -- Targets and lanes are locked after these parcels, and before the parcels that wait there. Not `is null`:
  -- for a small table without statistics the planner would walk the index of parcels to be offered.
  select array_agg(l.id) into v_locked
  from (
    select p.id from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
    where coalesce(p.lane, '') = '' and p.turn is distinct from 'waits' order by p.id for update of p) l;
  -- The statement above has also locked a parcel that a claim has made wait at its target meanwhile, without
  -- the lock of the target. That is out of order, so no further lock may be waited for.
  if exists (
    select from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
    where coalesce(p.turn, 'granted') = 'waits' and p.id <> all(coalesce(v_turns, '{}'))) then
    return query
      select 'moved', k.occurrence, k.schedule_id, k.kind, k.n, null::bigint, null::carillon.queue_class
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n);
    return;
  end if;
  if v_targets is not null then
    for v_target in select t.id from unnest(v_targets) t (id) order by 1 loop
      perform carillon.lock_target(v_target);
    end loop;
    select array_agg(l.id) into v_waiting
    from (
      select p.id from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
      where coalesce(p.turn, 'granted') = 'waits' and p.target_id = any(v_targets) order by p.id for update of p) l;
    v_locked := v_locked || v_waiting;
  end if;
  if v_laned is not null or v_groups is not null then
    perform carillon.lock_lanes(v_laned, v_groups);
    select array_agg(l.id) into v_waiting
    from (
      select p.id from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
      where coalesce(p.lane, '') <> '' order by p.id for update of p) l;
    v_locked := v_locked || v_waiting;
  end if;
  v_now := carillon.clock();

  with own as materialized (
    select j.occurrence, j.schedule_id, j.kind, j.n, j.parcel_id, p.lease_until is not null as under_way
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n and j.state = 'waiting'
    join carillon.schedules s on s.id = j.schedule_id
    left join carillon.parcels p on p.id = j.parcel_id
    where (p.id is null or p.id = any(v_locked)) and (s.deleted_at is null or p.lease_until is not null)
  ), cancelled as (
    update carillon.jobs j set state = 'cancelled', reason = 'requested', parcel_id = null, ready_at = null, finished_at = v_now, cancel_asked = null
    from own o
    where not o.under_way and j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
      and j.state = 'waiting' and j.parcel_id is not distinct from o.parcel_id
    returning j.occurrence, j.schedule_id, j.kind, j.n
  ), asked as (
    update carillon.jobs j set cancel_asked = true
    from own o
    where o.under_way and j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
      and j.state = 'waiting' and j.parcel_id = o.parcel_id
    returning j.occurrence, j.schedule_id, j.kind, j.n
  ), done as (
    select 'cancelled' as became, c.* from cancelled c union all select 'asked', a.* from asked a
  )
  select array_agg(d.became), array_agg(d.occurrence), array_agg(d.schedule_id), array_agg(d.kind), array_agg(d.n)
  into v_became, v_occurrences, v_schedule_ids, v_kinds, v_ns
  from done d;

  return query
    select coalesce(d.became, case when j.state is null then 'missing' when j.state <> 'waiting' or s.deleted_at is not null then 'settled' else 'moved' end),
      k.occurrence, k.schedule_id, k.kind, k.n, null::bigint, null::carillon.queue_class
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    left join unnest(v_became, v_occurrences, v_schedule_ids, v_kinds, v_ns) d (became, occurrence, schedule_id, kind, n)
      on d.occurrence = k.occurrence and d.schedule_id = k.schedule_id and d.kind = k.kind and d.n = k.n
    left join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
    left join carillon.schedules s on s.id = k.schedule_id;

  -- A parcel that was granted a turn at its target stays: its claim finds no job in it and gives the turn to
  -- the next parcel.
  delete from carillon.parcels p
  where p.id = any(v_locked) and p.lease_until is null and p.turn is distinct from 'granted' and not exists (
    select from unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id);
  if (v_laned is not null or v_groups is not null) and v_occurrences is not null then
    return query
      select null::text, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, f.id, f.queue
      from carillon.leave_lanes(v_occurrences, v_schedule_ids, v_kinds, v_ns, v_now) f;
  end if;
end $$;

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
