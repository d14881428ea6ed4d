-- Moves jobs of other parcels into a slow parcel until it holds p_size jobs at most: of parcels of the same
-- target, shard, priority and team that wait for a turn or are ready and not claimed. A parcel costs the same with
-- two jobs as with two hundred, and thousands of parcels with two jobs each would wait for that cost. The
-- emptied parcels are deleted, and their messages find nothing. A parcel in quarantine is left out, as by
-- carillon.due_turns: its jobs cannot be moved.
-- Locks: the other parcels with skip locked, then their jobs. The caller holds the gate of the shard shared,
-- the parcel's row, and the target's lock (class 6), shared if no parcel is due for a turn there.
-- Returns: how many jobs the parcel lists now.
-- Called by: carillon.enter_target, for a parcel that gets a place; carillon.merge_turns.
create or replace function carillon.fill_parcel(p_head carillon.parcels, p_size int, p_now timestamptz) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_others bigint[];
  v_jobs int := cardinality(p_head.occurrences);
begin
  -- A parcel that is more than half full stays as it is, and so does one whose jobs must not share a parcel.
  if p_head.lane is not null or p_head.owed is true or p_head.alone is true or v_jobs * 2 > p_size then return v_jobs; end if;
  with near as materialized (
    -- The first 250 of all shards, in their order: the index does not have the shard.
    (select p.id, p.shard from carillon.parcels p
      where p.target_id = p_head.target_id and p.turn = 'waits' and coalesce(p.priority, 0) = coalesce(p_head.priority, 0)
        and coalesce(p.team_id, 0) = coalesce(p_head.team_id, 0) and p.turn_at <= carillon.turn_place(p_now, p_head.priority)
      order by p.turn_at, p.id limit 250)
    union all
    (select p.id, p.shard from carillon.parcels p
      where p.target_id = p_head.target_id and p.shard = p_head.shard and p.queue = 'slow' and p.lease_until is null and p.turn is null
        and p.ready_at <= p_now
      order by p.ready_at limit 250)
  ), free as materialized (
    select p.id, cardinality(p.occurrences) as jobs, coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)) as place
    from near o join carillon.parcels p on p.id = o.id
    where o.shard = p_head.shard and o.id <> p_head.id and p.queue = 'slow' and coalesce(p.lane, '') = '' and coalesce(p.held_schedule, 0) = 0
      and p.owed is not true and p.alone is not true and coalesce(p.priority, 0) = coalesce(p_head.priority, 0)
      and coalesce(p.team_id, 0) = coalesce(p_head.team_id, 0)
      and (p.turn = 'waits' or (p.turn is null and p.lease_until is null and p.ready_at <= p_now))
      and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
        or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
    for update of p skip locked
  )
  select array_agg(f.id) into v_others
  from (select f.id, sum(f.jobs) over (order by f.place, f.id) as jobs from free f) f
  where f.jobs <= p_size - v_jobs;
  if v_others is null then return v_jobs; end if;
  -- A job that an edit has moved from one of these parcels to another is in the lists of both.
  with listed as materialized (
    select distinct k.occurrence, k.schedule_id, coalesce(k.kind, 'cadence') as kind, coalesce(k.n, 0) as n
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = p_head.id or p.id = any(v_others)
  ), moved as (
    update carillon.jobs j set parcel_id = p_head.id
    from listed l
    where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = l.kind and j.n = l.n and j.state = 'waiting'
      and j.parcel_id = any(v_others)
  ), gone as (
    delete from carillon.parcels p where p.id = any(v_others)
  )
  update carillon.parcels p set occurrences = a.occurrences, schedule_ids = a.schedule_ids, kinds = a.kinds, ns = a.ns
  from (
    select array_agg(l.occurrence order by l.occurrence, l.schedule_id, l.kind, l.n) as occurrences,
      array_agg(l.schedule_id order by l.occurrence, l.schedule_id, l.kind, l.n) as schedule_ids,
      array_agg(l.kind order by l.occurrence, l.schedule_id, l.kind, l.n) as kinds,
      array_agg(l.n order by l.occurrence, l.schedule_id, l.kind, l.n) as ns
    from listed l) a
  where p.id = p_head.id
  returning cardinality(p.occurrences) into v_jobs;
  return v_jobs;
end $$;
