-- Leaves a parcel its first p_keep jobs. The others wait at its target, with its turn, in new parcels of
-- p_size jobs.
-- Locks: the jobs, then the parcel's row. The caller holds that row already, and the target's lock (class 6).
-- Returns: nothing.
-- Called by: carillon.enter_target, for a parcel that is larger than the limits or the cost of the target
-- allow.
create or replace function carillon.split_parcel(p_parcel carillon.parcels, p_keep int, p_size int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  with cut as materialized (
    select nextval('carillon.parcels_id_seq') as id, f.at + 1 as first, f.at + p_size as last
    from (select at from generate_series(p_keep, cardinality(p_parcel.occurrences) - 1, p_size) at order by at) f
  ), made as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, team_id, owed, made_at, sent_at, waited_at, occurrences,
      schedule_ids, kinds, ns)
    select c.id, p_parcel.shard, p_parcel.queue, 'infinity', 'infinity', p_parcel.target_id, 'waits',
      coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)), p_parcel.priority, p_parcel.team_id, p_parcel.owed,
      p_parcel.made_at, p_parcel.sent_at, coalesce(p_parcel.waited_at, carillon.clock()), p_parcel.occurrences[c.first : c.last], p_parcel.schedule_ids[c.first : c.last], p_parcel.kinds[c.first : c.last], p_parcel.ns[c.first : c.last]
    from cut c
  )
  update carillon.jobs j set parcel_id = c.id
  from cut c cross join lateral unnest(p_parcel.occurrences[c.first : c.last], p_parcel.schedule_ids[c.first : c.last],
    p_parcel.kinds[c.first : c.last], p_parcel.ns[c.first : c.last]) k (occurrence, schedule_id, kind, n)
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = p_parcel.id;

  update carillon.parcels p set occurrences = p.occurrences[1 : p_keep], schedule_ids = p.schedule_ids[1 : p_keep],
    kinds = p.kinds[1 : p_keep], ns = p.ns[1 : p_keep]
  where p.id = p_parcel.id;
end $$;
