-- Says how many more parcels of a team slow workers may take: the team may have three quarters of the workers
-- that parcels of others leave, and at least one. Otherwise a team with many targets that hang would have a place
-- at each of them, and so all workers. The share of a target is assumed to be half of all workers.
-- Locks: none.
-- Returns: the number, 0 or less if the team has as many as it may.
-- Called by: carillon.due_turns, carillon.team_has_room, carillon.is_full and carillon.team_targets.
create or replace function carillon.team_room(p_team int, p_share int, p_now timestamptz) returns int
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select greatest(1, (2 * p_share - count(*) filter (where k.team_id is distinct from p_team)) * 3 / 4)::int - (count(*) filter (where k.team_id = p_team))::int
    from (
      select p.team_id from carillon.taken_places p
      where p.queue = 'slow' and (p.lease_until is not null or p.ready_at <= p_now or p.team_id = p_team)
      limit 4 * p_share) k
  $$;
