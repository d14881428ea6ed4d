-- Counts the places that each team has at a target. Jobs of no team, and parcels with jobs of several teams, are one
-- team with the id 0.
-- Locks: none.
-- Returns: the teams with places, and how many each has.
-- Called by: carillon.due_turns and carillon.grant_turns, at a target that limits the places of one team.
create or replace function carillon.team_slots(p_target int) returns table (team int, slots int)
  language sql stable
  as $$
    select coalesce(p.team_id, 0), sum(p.slots)::int from carillon.taken_places p where p.target_id = p_target group by 1
  $$;
