-- Says how far ahead a team's parcels get their starts at a target with a rate: a parcel of another team that comes
-- next is behind all that have a start.
-- Locks: none.
-- Returns: the time.
-- Called by: carillon.grant_turns; carillon.spread_parcels.
create or replace function carillon.team_ahead() returns interval
  language sql immutable parallel safe
  as $$ select interval '5 seconds' $$;
