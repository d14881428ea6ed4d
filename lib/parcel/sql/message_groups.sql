-- Names the message groups of those of these parcels that have one, to send them again: a parcel keeps its
-- team, and so do parcels that take over its jobs.
-- Locks: none.
-- Returns: the parcels with a group.
-- Called by: inGroups in lib/parcel/hand-over.ts.
create or replace function carillon.message_groups(p_parcels bigint[]) returns table (id bigint, message_group text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  return query
    select p.id, carillon.message_group(p.team_id, p.id) from carillon.parcels p where p.id = any(p_parcels) and p.team_id is not null;
end $$;
