-- Gives the turns that have come at a target by now, 200 at most. A settle asks for them, and the sweep does,
-- in case the process that knew of a free place has died.
-- Locks: the target, exclusively, and then as carillon.grant_turns.
-- Returns: the parcels that have got a turn, to be sent.
-- Called by: carillon.leave_target; carillon.leave_places; nextTurns in lib/parcel/sweep-turns.ts.
create or replace function carillon.next_turns(p_target int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.lock_target(p_target);
  return query select * from carillon.grant_turns(p_target, carillon.clock(), 200);
end $$;
