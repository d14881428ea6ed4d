-- Gives the turns in these lanes, as carillon.free_lanes does, at the time of the call. For TypeScript
-- callers: an edit after its changes to lanes, and the sweep where it goes through the lanes in parts.
-- Locks: the parcels that get a turn. The caller holds the locks of the lanes.
-- Returns: the parcels to be sent.
-- Called by: handOverLanes in lib/parcel/lanes.ts and sweepSome in lib/parcel/sweep-lanes.ts.
create or replace function carillon.hand_over_lanes(p_lanes text[]) returns table (id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
begin
  return query select f.id, f.queue from carillon.free_lanes(p_lanes, carillon.clock()) f;
end $$;
