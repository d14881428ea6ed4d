-- carillon: back to 31
-- One job that cannot be written keeps no other job of its parcel from being claimed or settled, nor its lane and its place at the target from the jobs that wait
-- there.

-- Settles some jobs of a claimed parcel under its fence, and leaves the parcel to its worker for the others. Called for the parts of a parcel whose settle has
-- failed (lib/parcel/settle-apart.ts). The lease goes on for half a minute from the part: the parts before may have waited for locks. Locks as settle_parcel does:
-- gates where a job is to be checked again, the parcel, its jobs. Lanes and the place at the target are left by leave_parcel.
-- `settled` is false, and nothing is written, where the lease has been lost; the other rows are the parcels to be sent.
create function carillon.settle_some(p_parcel bigint, p_fence int, p_notify text[], p_occurrences timestamptz[], p_schedule_ids bigint[],
  p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[], p_retry_ms bigint[], p_errors text[], p_classes text[],
  p_stacks text[], p_reasons text[], p_holds text[], p_versions int[])
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
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.lease_until is not null for update;
  v_now := carillon.clock();
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;
  update carillon.parcels p set lease_until = greatest(p.lease_until, v_now + interval '30 seconds'),
    offer_at = greatest(p.lease_until, v_now + interval '30 seconds')
  where p.id = p_parcel;
  return query select true, w.id, w.queue, w.ready_at
    from carillon.write_outcomes(v_parcel, v_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors,
      p_classes, p_stacks, p_reasons, p_holds, p_versions, p_notify, false) w;
end $$;

-- Hands the jobs from p_from to p_to of a parcel whose lease has ended back, each into a parcel of its own, as end_lease does with several jobs: none is charged
-- an attempt. Called for the parts of a parcel whose end_lease has failed (lib/parcel/end-lease.ts); the parcel stays for the jobs that cannot be written.
-- Locks the parcel, then its jobs. `ended` is false where the lease goes on or is gone; the other rows are the parcels to be sent.
create function carillon.end_lease_of_some(p_parcel bigint, p_from int, p_to int, p_notify text[])
  returns table (ended boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.lease_until < v_now and p.pulse_at is null for update;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;
  return query
    with own as (
      select j.occurrence, j.schedule_id, j.kind, j.n, carillon.version_tried(j, s) as version
      from unnest(v_parcel.occurrences[p_from:p_to], v_parcel.schedule_ids[p_from:p_to], v_parcel.kinds[p_from:p_to], v_parcel.ns[p_from:p_to])
        k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
      join carillon.schedules s on s.id = j.schedule_id
    ), listed as (
      select array_agg(o.occurrence) as occurrences, array_agg(o.schedule_id) as schedule_ids, array_agg(o.kind) as kinds, array_agg(o.n) as ns,
        array_agg('back'::text) as outcomes, array_agg(null::timestamptz) as ats, array_agg(null::bigint) as retries,
        array_agg(null::text) as nothing, array_agg(o.version) as versions
      from own o
    )
    select true, w.id, w.queue, w.ready_at
    from listed l cross join lateral carillon.write_outcomes(v_parcel, v_now, l.occurrences, l.schedule_ids, l.kinds, l.ns, l.outcomes, l.ats,
      l.retries, l.nothing, l.nothing, l.nothing, l.nothing, l.nothing, l.versions, p_notify, true) w
    where l.occurrences is not null;
end $$;

-- Ends the work on a parcel whose settle or end_lease has failed as a whole. Where all its jobs are settled the parcel is deleted. Else it gives up its place at the
-- target, its lease ends, so that the next sweep tries again to take the jobs from it, and it lists those jobs alone, so that the sweep can say whose they are. Called
-- with the fence by the worker, and with null where the lease has ended (lib/parcel/leave-parcel.ts). Locks the parcel, and entries of its lanes. It gives nobody a
-- turn: a parcel that waits there and cannot be written would undo it. Returns the target and whether there were lanes, for the caller to give the turns; no row
-- where the lease is lost.
create function carillon.leave_parcel(p_parcel bigint, p_fence int) returns table (left_target int, left_lanes boolean)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_sort = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_stay record;
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.pulse_at is null and case when p_fence is null then p.lease_until < v_now else p.fence = p_fence and p.lease_until is not null end
  for update;
  if v_parcel.id is null then return; end if;
  select array_agg(j.occurrence) as occurrences, array_agg(j.schedule_id) as schedule_ids, array_agg(j.kind) as kinds, array_agg(j.n) as ns into v_stay
  from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
    and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel;
  if v_stay.occurrences is null then
    delete from carillon.parcels p where p.id = p_parcel;
  else
    update carillon.parcels p set slots = null, turn = null, laned = null, company = null, lease_until = least(p.lease_until, v_now),
      offer_at = least(p.offer_at, v_now), occurrences = v_stay.occurrences, schedule_ids = v_stay.schedule_ids, kinds = v_stay.kinds, ns = v_stay.ns
    where p.id = p_parcel;
  end if;
  if v_parcel.laned then
    -- As leave_lanes does, which fails where the next parcel of a lane cannot be written.
    with own as materialized (
      select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, j.state = 'waiting' as waits
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0)
      cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
    ), outside as (
      update carillon.lane_entries e set entered = false from own o
      where o.waits and o.lane like 'grouped/%' and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
        and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
    )
    delete from carillon.lane_entries e using own o
    where not o.waits and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n;
  end if;
  return query select v_parcel.target_id, coalesce(v_parcel.laned, false);
end $$;

-- The parcels that wait at a target for nothing but a turn, the first of them: many may wait that are not due yet. Without those that are set aside, since they
-- cannot be written: nobody behind them would ever have a turn. Called by grant_turns, merge_turns and the sweep (lib/parcel/sweep-turns.ts). Whether any is set
-- aside is asked once, of an index that is nearly always empty.
create or replace function carillon.due_turns(p_target int, p_now timestamptz, p_max bigint) returns table (id bigint, jobs int, turn_at timestamptz)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
  as $$
    select f.id, f.jobs, f.turn_at
    from (values (-1), (0), (1)) l (priority) cross join lateral (
      select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
      where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
        and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
          or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
      order by p.turn_at, p.id limit p_max) f
    order by f.turn_at, f.id limit p_max
  $$;

-- Moves the jobs from p_from to p_to of a parcel that is due and not claimed into a parcel of their own, which keeps its place at the target. Called for the parts of
-- a parcel whose claim has failed (lib/parcel/split-parcel.ts). The old parcel keeps its lists: each reader of a parcel takes only jobs that name it, and so a
-- parcel that cannot be written loses its jobs too. The caller has the gate of its shard, shared; locks the parcel, then its jobs. Returns the parcel to be sent,
-- and no row where none of the jobs is in the parcel any more.
create function carillon.move_some(p_parcel bigint, p_from int, p_to int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_id bigint := nextval('carillon.parcels_id_seq');
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;
  if v_parcel.id is null then return; end if;
  return query
    with moved as (
      update carillon.jobs j set parcel_id = v_id
      from unnest(v_parcel.occurrences[p_from:p_to], v_parcel.schedule_ids[p_from:p_to], v_parcel.kinds[p_from:p_to], v_parcel.ns[p_from:p_to])
        k (occurrence, schedule_id, kind, n)
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p_parcel
      returning j.occurrence, j.schedule_id, j.kind, j.n
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, owed, alone, occurrences, schedule_ids, kinds, ns)
    select v_id, v_parcel.shard, v_parcel.queue, v_parcel.ready_at, v_now + interval '20 seconds', v_parcel.target_id, v_parcel.turn_at, v_parcel.priority,
      v_parcel.owed, v_parcel.alone, array_agg(m.occurrence order by m.occurrence, m.schedule_id, m.kind, m.n),
      array_agg(m.schedule_id order by m.occurrence, m.schedule_id, m.kind, m.n), array_agg(m.kind order by m.occurrence, m.schedule_id, m.kind, m.n),
      array_agg(m.n order by m.occurrence, m.schedule_id, m.kind, m.n)
    from moved m having count(*) > 0
    returning parcels.id, parcels.queue, parcels.ready_at;
end $$;

revoke execute on function
  carillon.settle_some(bigint, int, text[], timestamptz[], bigint[], carillon.job_kind[], int[], text[], timestamptz[], bigint[], text[], text[],
    text[], text[], text[], int[]),
  carillon.end_lease_of_some(bigint, int, int, text[]), carillon.leave_parcel(bigint, int), carillon.move_some(bigint, int, int)
  from public;
-- safe: the functions are new.
grant execute on function
  carillon.settle_some(bigint, int, text[], timestamptz[], bigint[], carillon.job_kind[], int[], text[], timestamptz[], bigint[], text[], text[],
    text[], text[], text[], int[]),
  carillon.end_lease_of_some(bigint, int, int, text[]), carillon.leave_parcel(bigint, int), carillon.move_some(bigint, int, int)
  to carillon_worker;
-- safe: the functions are new.
grant execute on function carillon.end_lease_of_some(bigint, int, int, text[]), carillon.leave_parcel(bigint, int), carillon.leave_places(int) to carillon_tick;
-- safe: the function is there since before, and only this release's workers and ticks call it.
grant execute on function carillon.leave_lanes(timestamptz[], bigint[], carillon.job_kind[], int[], timestamptz) to carillon_worker, carillon_tick;
