-- Writes parcels and their waiting jobs as they are: fails if one of them cannot be written, and changes
-- nothing. So the sweep finds out which of the parcels that wait at a target keep its turns from being given,
-- and whether a parcel that was set aside can be written again.
-- Locks: the parcels by id with skip locked, as when turns are given; then their jobs.
-- Returns: nothing.
-- Called by: writeParcels in lib/parcel/sweep-turns.ts.
create or replace function carillon.write_parcels(p_ids bigint[]) returns void
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
