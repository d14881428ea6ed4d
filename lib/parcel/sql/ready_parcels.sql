-- Finds parcels that could start now at a slow target, for a worker that has to wait or takes further parcels
-- along: their messages have not come yet or are not needed any more. The search begins at a random shard, so
-- that two callers find different ones. Parcels of the backlog and those that travel alone are left out.
-- Locks: none.
-- Returns: the ids of p_max parcels at most.
-- Called by: carillon.claim_parcel, for a worker that waits; carillon.company_of and carillon.claim_company.
create or replace function carillon.ready_parcels(p_target int, p_now timestamptz, p_max int) returns setof bigint
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_from int := floor(random() * 64);
begin
  -- Nearly always there is none.
  if not exists (
    select from carillon.parcels p where p.target_id = p_target and p.queue = 'slow' and p.lease_until is null and p.turn is null)
  then
    return;
  end if;
  return query
    select o.id
    from generate_series(v_from, v_from + 63) g (shard) cross join lateral (
      select p.id from carillon.parcels p
      where p.target_id = p_target and p.shard = (g.shard % 64)::smallint and p.queue = 'slow' and p.lease_until is null and p.turn is null
        and p.ready_at <= p_now and p.owed is not true and p.alone is not true
      order by p.ready_at limit p_max) o
    limit p_max;
end $$;
