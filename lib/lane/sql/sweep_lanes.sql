-- The safety net of the lanes: gives turns that no claim, settle or edit has given. Looks at up to p_max
-- parcels that wait in a lane and whose time for a look (offer_at) has come. The next look at a parcel that
-- goes on waiting is a minute later, and twice as long after each look, up to 32 minutes.
-- Locks: the lanes of these parcels, then the parcels. The parcels are chosen without a lock, because lanes
-- are locked before the parcels that wait in them.
-- Returns: first a row with the number of parcels looked at and no id; then the parcels to be sent, with
-- looked = 0.
-- Called by: sweepTogether in lib/parcel/sweep-lanes.ts, which goes through the lanes in parts if this fails.
create or replace function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcels bigint[];
  v_schedules bigint[];
  v_groups text[];
  v_lanes text[];
begin
  select array_agg(p.id), array_agg(distinct p.schedule_ids[1]) filter (where p.lane like 'schedule/%'),
    array_agg(distinct p.lane) filter (where p.lane not like 'schedule/%'), array_agg(distinct p.lane)
  into v_parcels, v_schedules, v_groups, v_lanes
  from (select * from carillon.parcels where lane is not null and offer_at <= v_now order by offer_at limit p_max) p;
  looked := coalesce(cardinality(v_parcels), 0);
  return next;
  if looked = 0 then return; end if;
  perform carillon.lock_lanes(v_schedules, v_groups);
  return query select 0, f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;
  update carillon.parcels p set offers = least(p.offers + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(p.offers, 5))
  where p.id = any(v_parcels) and p.lane is not null;
end $$;
