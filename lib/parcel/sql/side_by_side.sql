-- The most jobs of a slow parcel that a worker has under way at once. It must equal sideBySideMax in
-- lib/parcel/parcel-queue.ts.
-- Locks: none.
-- Returns: the number.
-- Called by: carillon.due_turns, carillon.enter_target, carillon.grant_turns, carillon.jobs_a_turn, carillon.parcel_jobs,
-- carillon.places_of.
create or replace function carillon.side_by_side() returns int language sql immutable parallel safe as $$ select 10 $$;
