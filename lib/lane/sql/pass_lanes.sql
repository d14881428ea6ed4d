-- Decides for a claim which jobs of its parcel may start, of those that pass lanes or are past their
-- deadline. A job may have two lanes, that of its schedule and that of its group. It passes both at once or
-- none: otherwise two jobs could each have entered one lane and wait for the other.
-- A cadence job that has never started and is past its deadline is skipped (`late`), and so are up to 100 jobs of each schedule with an overlap
-- rule that have become late while they waited in a lane. A job that may not pass is skipped (`overlap`) if
-- its schedule's rule is `skip`, its own lane is not free and it has neither entered nor started; otherwise
-- it moves into a parcel of its own, which waits in the first of its lanes that is not free.
-- If a job passes, the parcel counts as claimed at the moment after the locks, and its lease moves along. A
-- job that has passed a grouped handler's lane brings other due jobs of its group into the parcel, up to 250
-- in all.
-- Locks: the lanes; then parcels that wait in them, entries and jobs; for a grouped handler's lane then as
-- carillon.gather_group. The caller holds the gate of the shard, shared, and the parcel.
-- Returns: the parcels in the same lanes that have got their turn, to be sent.
-- Called by: carillon.claim_parcel, after carillon.cancel_superseded and carillon.set_aside.
create or replace function carillon.pass_lanes(p_parcel carillon.parcels, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
  v_lanes text[];
  v_lane text;
  v_now timestamptz;
begin
  select array_agg(distinct k.schedule_id) filter (where l.place = 1), array_agg(distinct l.lane) filter (where l.place = 2)
  into v_schedules, v_lanes
  from unnest(p_schedule_ids, p_kinds) k (schedule_id, kind) cross join lateral carillon.lanes_of(k.schedule_id, k.kind) l;
  -- The locks come before the decision and the clock: a settle may hold a lane at this moment, and a job that
  -- starts after that settle must have a later start.
  perform carillon.lock_lanes(v_schedules, v_lanes);
  v_now := carillon.clock();

  with late as (
    select j.occurrence, j.schedule_id, j.due_at, j.parcel_id
    from unnest(p_occurrences, p_schedule_ids, p_kinds) k (occurrence, schedule_id, kind)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.deadline_ms from carillon.schedules s where s.id = j.schedule_id offset 0) s
    where k.kind = 'cadence' and j.attempt = 0 and j.started_at is null and j.forgiven is null and j.due_at + s.deadline_ms * interval '1 millisecond' < v_now
    union all
    -- And jobs that have become late while they waited in a lane. Without the bound, a long queue would be
    -- one long transaction.
    select l.occurrence, l.schedule_id, l.due_at, l.parcel_id
    from unnest(v_schedules) v (id) cross join lateral (
      select s.deadline_ms from carillon.schedules s where s.id = v.id offset 0) s cross join lateral (
      select e.occurrence, e.schedule_id, e.due_at, j.parcel_id
      from carillon.lane_entries e
      join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting' and j.attempt = 0 and j.started_at is null and j.forgiven is null
      join carillon.parcels p on p.id = j.parcel_id and p.lane is not null
      where e.lane = carillon.lane_of(v.id) and e.due_at < v_now - s.deadline_ms * interval '1 millisecond'
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 100) l
  ), unparked as (
    delete from carillon.parcels p using late l where p.id = l.parcel_id and p.lane is not null
  ), gone as (
    delete from carillon.lane_entries e using late l cross join lateral carillon.lanes_of(l.schedule_id, 'cadence') o
    where e.lane = o.lane and e.due_at = l.due_at and e.occurrence = l.occurrence
      and e.schedule_id = l.schedule_id and e.kind = 'cadence' and e.n = 0
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'late', parcel_id = null, ready_at = null, finished_at = v_now
    from late l where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = 'cadence' and j.n = 0
    returning j.occurrence, j.schedule_id, j.kind, j.n
  )
  insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
  select 'skipped', s.occurrence, s.schedule_id, s.kind, s.n, 0, v_now, v_now, carillon.passed_alone(s.occurrence, 'late')
  from skipped s where (select carillon.tells('skipped'));
  if v_schedules is null and v_lanes is null then return; end if;

  insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
  select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
    and j.state = 'waiting' and j.parcel_id = p_parcel.id
  cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
  on conflict do nothing;

  with places as materialized (
    select l.lane, l.place, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, e.entered,
      s.overlap = 'skip' and j.attempt = 0 and j.started_at is null and not e.entered as may_skip
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.overlap from carillon.schedules s where s.id = j.schedule_id offset 0) s
    cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
    join carillon.lane_entries e on e.lane = l.lane and e.due_at = j.due_at
      and e.occurrence = j.occurrence and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n
  ), fronts as materialized (
    select l.lane, f.occurrence, f.schedule_id, f.kind, f.n
    from (select distinct lane from places where lane not like 'grouped/%') l cross join lateral carillon.lane_front(l.lane, v_now) f
    where f.may_pass
  ), free as materialized (
    select l.lane from (select distinct lane from places where lane like 'grouped/%') l where not carillon.lane_is_busy(l.lane, p_parcel.id)
  ), judged as materialized (
    select p.*, p.lane in (select lane from free) or exists (
      select from fronts f where f.lane = p.lane and (f.occurrence, f.schedule_id, f.kind, f.n) = (p.occurrence, p.schedule_id, p.kind, p.n)) as open
    from places p
  ), own as materialized (
    select due_at, occurrence, schedule_id, kind, n, bool_and(open) as passes,
      (array_agg(lane order by place) filter (where not open))[1] as waits_in,
      coalesce(bool_or(may_skip and not open) filter (where place = 1), false) as skippable
    from judged group by 1, 2, 3, 4, 5
  ), entering as (
    update carillon.lane_entries e set entered = true from own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), outlived as (
    -- Earlier entries may be of jobs that are over. They keep no job back, and are deleted here, when the
    -- next job enters.
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) < (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
      and not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')
  ), outlived_inside as (
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane and e.entered
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) > (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
      and not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')
  ), marked as (
    update carillon.parcels p set laned = true, claimed_at = v_now, lease_until = p.lease_until + (v_now - p.claimed_at),
      offer_at = p.lease_until + (v_now - p.claimed_at)
    where p.id = p_parcel.id and exists (select from own o where o.passes)
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'overlap', parcel_id = null, ready_at = null, finished_at = v_now from own o
    where not o.passes and o.skippable and j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
    returning j.occurrence, j.schedule_id, j.kind, j.n
  ), told as (
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
    select 'skipped', s.occurrence, s.schedule_id, s.kind, s.n, 0, v_now, v_now, carillon.passed_alone(s.occurrence, 'overlap')
    from skipped s where (select carillon.tells('skipped'))
  ), gone as (
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where not o.passes and o.skippable and e.lane = p.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), parked as materialized (
    select nextval('carillon.parcels_id_seq') as id, o.* from own o where not o.passes and not o.skippable
  ), inserted as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, target_id, priority, team_id, owed, alone, made_at, sent_at, occurrences,
      schedule_ids, kinds, ns)
    select p.id, p_parcel.shard, p_parcel.queue, 'infinity', v_now + interval '1 minute', p.waits_in, p_parcel.target_id, p_parcel.priority,
      (select s.team_id from carillon.schedules s where s.id = p.schedule_id), p_parcel.owed, p_parcel.alone, p_parcel.made_at, p_parcel.sent_at, array[p.occurrence], array[p.schedule_id], array[p.kind], array[p.n]
    from parked p
  )
  update carillon.jobs j set parcel_id = p.id from parked p
  where j.occurrence = p.occurrence and j.schedule_id = p.schedule_id and j.kind = p.kind and j.n = p.n;

  for v_lane in
    select distinct j.lane
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.parcel_id = p_parcel.id and j.lane like 'grouped/%'
  loop
    perform carillon.gather_group(p_parcel, v_lane, v_now, greatest(0, 250 - cardinality(p_parcel.occurrences)));
  end loop;

  v_lanes := coalesce(v_lanes, '{}') || array(select carillon.lane_of(s.id) from unnest(v_schedules) s (id));
  return query select f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;
end $$;
