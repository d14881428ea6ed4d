-- Says whether a parcel waits at a target, due or not. Scans of the table are off: this must stay one look
-- into an index, however few parcels the planner expects.
-- Locks: none.
-- Returns: true if one waits.
-- Called by: carillon.leave_target, for a parcel that took no place; carillon.nobody_waits.
create or replace function carillon.somebody_waits(p_target int) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return exists (select from carillon.parcels p where p.target_id = p_target and p.turn = 'waits');
end $$;
