-- Locks a target, so that one transaction at a time decides which parcels go on to it. (Class 6: see
-- lib/db/locks.ts.)
-- Locks: the target, exclusively, until the transaction ends.
-- Returns: nothing.
-- Called by: carillon.enter_target, carillon.wait_where_full, carillon.next_turns, carillon.renew_turns,
-- carillon.spread_parcels, carillon.define_limits, carillon.cancel_jobs and carillon.lock_parcels_of.
create or replace function carillon.lock_target(p_target int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$ begin perform pg_advisory_xact_lock(6, p_target); end $$;
