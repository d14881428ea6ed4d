-- The most parcels that a worker claims along with one.
-- Locks: none.
-- Returns: the number.
-- Called by: carillon.company_of; carillon.grant_turns, which looks at this many more parcels for each one
-- under way, since claims may be taking them along.
create or replace function carillon.company_max() returns int language sql immutable parallel safe as $$ select 9 $$;
