-- Gives the free places at a target to the parcels that wait there, after a settle that has committed. The
-- commit does not wait for the disk: the sweep gives again the turns that are lost.
-- Locks: the target (class 6), then as carillon.grant_turns.
-- Returns: the parcels that got a turn, to be sent.
-- Called by: leavePlaces in lib/parcel/leave-parcel.ts, for settleTogether and leaveParcel.
create or replace function carillon.leave_places(p_target int) returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return query select * from carillon.next_turns(p_target);
end $$;
