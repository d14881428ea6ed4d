-- Says how many parcels a worker may claim along with a claimed one, by carillon.claim_company. Only a slow
-- parcel with a place at a target without limits has company, if its jobs take less than half a second: a
-- limit counts by the parcel. The number is the waiting and ready parcels of the target divided by its share,
-- that is, how many each place would work one after the other.
-- Locks: none.
-- Returns: a number up to carillon.company_max(); 0 for none.
-- Called by: carillon.claim_parcel, for its answer `claimed`.
create or replace function carillon.company_of(p_parcel carillon.parcels) returns int
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_target carillon.targets;
  v_most int;
  v_waiting int;
begin
  if p_parcel.queue <> 'slow' or p_parcel.slots is null or p_parcel.lane is not null or p_parcel.alone is true then return 0; end if;
  select t.* into v_target from carillon.targets t where t.id = p_parcel.target_id;
  if v_target.concurrency is not null or v_target.rate_count is not null
    or coalesce(carillon.jobs_a_turn(v_target.cost_ms), 0) <= cardinality(p_parcel.occurrences)
  then
    return 0;
  end if;
  v_most := carillon.company_max() * coalesce(v_target.share, 1);
  select count(*) into v_waiting from (
    select from carillon.parcels p where p.target_id = p_parcel.target_id and p.turn = 'waits' limit v_most) w;
  if v_waiting < v_most then
    v_waiting := v_waiting + (select count(*) from carillon.ready_parcels(p_parcel.target_id, p_parcel.claimed_at, v_most - v_waiting));
  end if;
  return least(carillon.company_max(), v_waiting / coalesce(v_target.share, 1));
end $$;
