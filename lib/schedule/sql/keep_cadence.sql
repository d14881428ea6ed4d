-- Keeps a cadence from being deleted until this transaction ends. A version that names it keeps it from then
-- on.
-- Locks: the row of the cadence, for key share. Waits for carillon.reclaim_cadences if that has it.
-- Returns: the id; null if the cadence is gone.
-- Called by: cadenceIds in lib/schedule/stored/cadence-columns.ts, which makes the cadence again if it is gone.
create or replace function carillon.keep_cadence(p_id int) returns int
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$ select c.id from carillon.cadences c where c.id = p_id for key share $$;
