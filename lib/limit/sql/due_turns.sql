-- Lists the first parcels that wait at a target for nothing but a turn, in the order of turns, p_max at most.
-- Each priority is read by itself, in the order of the index and only up to now: many parcels may wait that
-- are not due yet.
-- Leaves out parcels that are set aside because they cannot be written: with them in the list, no parcel
-- behind them would ever have a turn. Whether any parcel is set aside is asked once, of an index that is
-- nearly always empty.
-- Locks: none.
-- Returns: the parcels, with the number of their jobs and their place in the order.
-- Called by: carillon.grant_turns and carillon.merge_turns, for the parcels whose turns come next;
-- carillon.direct_slots and carillon.find_room, to see whether one waits; carillon.claim_company, for parcels
-- to take along.
create or replace function carillon.due_turns(p_target int, p_now timestamptz, p_max bigint) returns table (id bigint, jobs int, turn_at timestamptz)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
  as $$
    select f.id, f.jobs, f.turn_at
    from (values (-1), (0), (1)) l (priority) cross join lateral (
      select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
      where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
        and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
          or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
      order by p.turn_at, p.id limit p_max) f
    order by f.turn_at, f.id limit p_max
  $$;
