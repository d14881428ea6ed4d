-- Says whether as many parcels take places at a target as its share allows now, or slow workers may take no more
-- parcels of this team (null: of none). For a target that only its share bounds.
-- Locks: none.
-- Returns: true if they do.
-- Called by: carillon.wait_where_full, without the target's lock and again with it.
create or replace function carillon.is_full(p_target carillon.targets, p_team int, p_now timestamptz) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return (select count(*) from carillon.taken_places p where p.target_id = p_target.id) >= carillon.share_now(p_target, p_now)
    or (p_team is not null and (select r.room from carillon.team_rooms(array[p_team], p_target.share, p_now) r) <= 0);
end $$;
