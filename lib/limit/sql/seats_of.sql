-- Says how many claims may look for room at once, each with a seat of its own (carillon.take_seat): a quarter of
-- the share of a target. Each counts all seats as taken, so more seats would leave more room unused.
-- Locks: none.
-- Returns: the number, at least one.
-- Called by: carillon.take_seat, carillon.find_room, carillon.team_has_room and carillon.team_targets.
create or replace function carillon.seats_of(p_share int) returns int
  language sql immutable parallel safe
  as $$ select greatest(1, p_share / 4) $$;
