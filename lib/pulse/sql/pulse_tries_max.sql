-- Says how often a parcel of pulses is worked until the pulses that its targets did not take are given up.
-- Locks: none.
-- Returns: the number of tries.
-- Called by: carillon.claim_parcel, to tell the worker of the last try; carillon.end_lease and
-- carillon.settle_pulses, before another try.
create or replace function carillon.pulse_tries_max() returns smallint language sql immutable parallel safe as $$ select 6::smallint $$;
