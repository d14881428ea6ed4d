-- Makes sure that no parcel waits at a target and that no claim can make one wait there before this
-- transaction ends, since such a claim needs the target's lock. A tick or an edit may insert waiting parcels
-- without that lock; it sends other parcels of the same batch, whose claims give the turns.
-- Locks: the target, shared, until the transaction ends, if the answer is true; nothing if it is false.
-- Returns: true if no parcel waits; false if one does.
-- Called by: carillon.leave_target, for a parcel that took a place; carillon.settle_parcels, for each target
-- at which it has freed a place.
create or replace function carillon.nobody_waits(p_target int) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  -- The first look takes no lock: it sees a parcel that waits already.
  if carillon.somebody_waits(p_target) then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target);
  if not carillon.somebody_waits(p_target) then return true; end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;
