-- Says how many more parcels of each of these teams slow workers may take: a team may have three quarters of the
-- workers that parcels of others leave, and at least one. Otherwise a team with many targets that hang would have a
-- place at each of them, and so all workers. The share of a target is assumed to be half of all workers.
-- Locks: none.
-- Returns: the number for each team, 0 or less if it has as many as it may.
-- Called by: carillon.due_turns, carillon.team_has_room, carillon.is_full and carillon.team_targets.
create or replace function carillon.team_rooms(p_teams int[], p_share int, p_now timestamptz) returns table (team int, room int)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    with places as materialized (
      select p.team_id, p.lease_until is not null or p.ready_at <= p_now as works from carillon.taken_places p
      where p.queue = 'slow' and (p.lease_until is not null or p.ready_at <= p_now or p.team_id = any(p_teams))
      limit 4 * p_share
    )
    select t.team, greatest(1, (2 * p_share - count(*) filter (where k.works and k.team_id is distinct from t.team)) * 3 / 4)::int
      - (count(*) filter (where k.team_id = t.team))::int
    from unnest(p_teams) t (team) left join places k on true group by t.team
  $$;
