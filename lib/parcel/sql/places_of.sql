-- Says how many places of a worker p_jobs jobs of a parcel have had, for the cost of the target: one for each
-- job, up to the parcel's places. The parcels of a company share the worker's places evenly.
-- Locks: none.
-- Returns: the number of places, perhaps a fraction.
-- Called by: carillon.settle_parcel and carillon.settle_parcels, for the `ms` of target_work.
create or replace function carillon.places_of(p_parcel carillon.parcels, p_jobs int) returns float8 language sql immutable parallel safe
  as $$
    select case when p_parcel.company > 1 then least(p_jobs * p_parcel.company, carillon.side_by_side())::float8 / p_parcel.company
      else least(p_jobs, coalesce(p_parcel.slots, carillon.side_by_side())) end
  $$;
