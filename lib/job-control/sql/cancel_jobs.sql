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
