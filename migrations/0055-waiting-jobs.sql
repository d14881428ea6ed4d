-- carillon: back to 31
-- One job that waits at a target and cannot be written keeps no other job of that target from its turn.

-- Fails where one of these parcels, or a job in it, cannot be written, and changes nothing. A parcel that is locked is left out, as by the turns. The
-- parcels come before their jobs, as everywhere. Called for parts of what waits at a target whose turns cannot be given (lib/parcel/sweep-turns.ts).
create function carillon.write_parcels(p_ids bigint[]) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  with locked as materialized (
    select p.id from carillon.parcels p where p.id = any(p_ids) order by p.id for update skip locked
  ), written as (
    update carillon.parcels p set offers = p.offers from locked l where p.id = l.id
    returning p.id, p.occurrences, p.schedule_ids, p.kinds, p.ns
  )
  update carillon.jobs j set parcel_id = w.id
  from written w cross join lateral unnest(w.occurrences, w.schedule_ids, w.kinds, w.ns) k (occurrence, schedule_id, kind, n)
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = w.id;
end $$;

revoke execute on function carillon.write_parcels(bigint[]) from public;
-- safe: the function is new.
grant execute on function carillon.write_parcels(bigint[]) to carillon_tick;

-- Packs a slow parcel full with others of its shard and target that could start as well: those that wait there for their turn, and those that nobody
-- has come for yet. A parcel costs the same whether it holds two jobs or two hundred, and where thousands stand there of two each, that is what they
-- wait for. The caller holds the target's lock, shared where nobody waits there, and the shard's gate. Returns how many jobs it has now; what it took is
-- gone, and so its messages find nothing. One that is set aside is passed over, as by carillon.due_turns: its jobs may not take another parcel's number.
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
  -- One that is half full is full enough, and these have no others with them.
  if p_head.lane is not null or p_head.owed is true or p_head.alone is true or v_jobs * 2 > p_size then return v_jobs; end if;
  with near as materialized (
    -- So many in their order are looked at, whichever shards they are of.
    (select p.id, p.shard from carillon.parcels p
      where p.target_id = p_head.target_id and p.turn = 'waits' and coalesce(p.priority, 0) = coalesce(p_head.priority, 0)
        and p.turn_at <= carillon.turn_place(p_now, p_head.priority)
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
      and (p.turn = 'waits' or (p.turn is null and p.lease_until is null and p.ready_at <= p_now))
      and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
        or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
    for update of p skip locked
  )
  select array_agg(f.id) into v_others
  from (select f.id, sum(f.jobs) over (order by f.place, f.id) as jobs from free f) f
  where f.jobs <= p_size - v_jobs;
  if v_others is null then return v_jobs; end if;
  -- What an edit has taken out of one of them and put into another is listed by both.
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
