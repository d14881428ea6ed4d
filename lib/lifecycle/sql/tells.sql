-- Says whether lifecycle events of this name are on.
-- Locks: none.
-- Returns: true if the setting in carillon.lifecycle has the event.
-- Called by: carillon.pass_lanes, before it writes `skipped` events; passedEvents in lib/plan/passed-events.ts.
create or replace function carillon.tells(p_event text) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select p_event = any(l.events) from carillon.lifecycle l $$;
