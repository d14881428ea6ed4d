-- Gives a parcel's place in the order of turns: the instant at which it is ready, ten minutes earlier for
-- high priority (-1) and ten minutes later for low priority (1). A parcel of low priority is overtaken by
-- parcels that are ready up to twenty minutes later, and by none after that.
-- Locks: none.
-- Returns: the place, as an instant.
-- Called by: carillon.enter_target, carillon.wait_where_full, carillon.due_turns, carillon.split_parcel,
-- carillon.spread_parcels, carillon.set_aside, carillon.fill_parcel, carillon.divide_parcel and carillon.claim_company; packedJobs in
-- lib/plan/packed-jobs.ts.
create or replace function carillon.turn_place(p_ready_at timestamptz, p_priority smallint) returns timestamptz
  language sql immutable parallel safe
  as $$ select p_ready_at + coalesce(p_priority, 0) * interval '10 minutes' $$;
