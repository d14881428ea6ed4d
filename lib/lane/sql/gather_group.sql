-- Brings due jobs of a grouped handler's lane into a claimed parcel that has passed this lane, so that the
-- handler gets the due jobs of the group in one call. Takes up to p_max jobs in due order, from parcels of
-- all shards.
-- Leaves out, for a later claim: jobs of a shard that is being edited; jobs that another transaction has
-- locked; jobs of another queue; jobs that are held, or are past their deadline; rechecks that an edit has ended; cadence jobs of a schedule
-- with an overlap rule, because the caller has not locked that schedule's own lane; jobs of a parcel that is
-- under a lease, held or alone. A claimed parcel that is alone takes no jobs.
-- A parcel that waited in the lane is deleted with its one job. Other parcels keep their lists: a parcel that
-- lists a job with another parcel's id does not own the job.
-- Locks: gates of other shards, shared, by a try; the jobs, with skip locked; then the parcels that waited in
-- the lane, the lane's entries and the claimed parcel. The caller holds the lane, the gate of the claimed
-- parcel's shard and the claimed parcel.
-- Returns: nothing.
-- Called by: carillon.pass_lanes, for each lane of a grouped handler that a job of its parcel has passed.
create or replace function carillon.gather_group(p_parcel carillon.parcels, p_lane text, p_now timestamptz, p_max int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint;
  v_shards smallint[] := array[p_parcel.shard];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- The job of this parcel was under way when a worker died: it travels without others.
  if p_parcel.alone then return; end if;
  for v_shard in
    select distinct (select s.shard from carillon.schedules s where s.id = e.schedule_id)
    from (select e.schedule_id from carillon.lane_entries e where e.lane = p_lane and e.due_at <= p_now
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit p_max * 2) e
  loop
    -- The gate comes before the lanes in the lock order, so this is a try and waits for no lock. (Class 2:
    -- the gate.)
    if v_shard <> p_parcel.shard and pg_try_advisory_xact_lock_shared(2, v_shard) then v_shards := v_shards || v_shard; end if;
  end loop;

  select array_agg(g.occurrence), array_agg(g.schedule_id), array_agg(g.kind), array_agg(g.n)
  into v_occurrences, v_schedule_ids, v_kinds, v_ns
  from (
    select e.occurrence, e.schedule_id, e.kind, e.n
    from carillon.lane_entries e
    join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
      and j.state = 'waiting' and j.parcel_id <> p_parcel.id and coalesce(j.ready_at, j.due_at) <= p_now
    join carillon.schedules s on s.id = j.schedule_id and s.lane = e.lane and s.queue = p_parcel.queue and s.shard = any(v_shards)
      and coalesce(s.deleted_at, 'infinity') = 'infinity' and (s.held_since is null or s.held_until <= p_now or j.kind = 'manual')
      -- A recheck of settings that are no longer in force has no place in a delivery: its own claim cancels it.
      and (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version)
      and (j.kind <> 'cadence' or (s.overlap is null and (s.deadline_ms is null or j.attempt > 0 or j.started_at is not null or j.forgiven is not null
        or j.due_at + s.deadline_ms * interval '1 millisecond' >= p_now)))
    where e.lane = p_lane and e.due_at <= p_now
      and not exists (select from carillon.parcels p where p.id = j.parcel_id and (p.lease_until is not null or p.held_schedule is not null or p.alone))
    order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n
    limit p_max
    for no key update of j skip locked) g;
  if v_occurrences is null then return; end if;

  with taken as materialized (
    select j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.parcel_id
    from unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
  ), unparked as (
    delete from carillon.parcels p using taken t where p.id = t.parcel_id and p.lane = p_lane
  ), entering as (
    update carillon.lane_entries e set entered = true from taken t
    where e.lane = p_lane and e.due_at = t.due_at and e.occurrence = t.occurrence and e.schedule_id = t.schedule_id and e.kind = t.kind and e.n = t.n
  ), listed as (
    select k.occurrence, k.schedule_id, coalesce(k.kind, 'cadence') as kind, coalesce(k.n, 0) as n
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = p_parcel.id
    union
    select occurrence, schedule_id, kind, n from taken
  ), packed as (
    select array_agg(occurrence) as occurrences, array_agg(schedule_id) as schedule_ids, array_agg(kind) as kinds, array_agg(n) as ns from listed
  ), filled as (
    update carillon.parcels p set occurrences = k.occurrences, schedule_ids = k.schedule_ids, kinds = k.kinds, ns = k.ns
    from packed k where p.id = p_parcel.id
  )
  update carillon.jobs j set parcel_id = p_parcel.id from taken t
  where j.occurrence = t.occurrence and j.schedule_id = t.schedule_id and j.kind = t.kind and j.n = t.n;
end $$;
