-- Gives the turns at a target again after its limits have changed. Parcels that have a turn and are not
-- claimed yet wait again. Parcels that were spread by the old rate are ready when they are due, or wait if
-- they are due already. The starts of the old rate are forgotten. A parcel that is being claimed at this
-- moment is locked and keeps its turn.
-- Locks: the target, exclusively; its parcels, with skip locked; its row; then as carillon.grant_turns.
-- Returns: the parcels that have got a turn, 200 at most, to be sent.
-- Called by: carillon.define_limits; change in lib/limit/limits.ts, after it has written the limits.
create or replace function carillon.renew_turns(p_target int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
begin
  perform carillon.lock_target(p_target);
  v_now := carillon.clock();
  update carillon.parcels p set turn = 'waits', slots = null, slot_at = null, ready_at = 'infinity', offer_at = 'infinity', waited_at = coalesce(p.waited_at, v_now)
  where p.id in (select g.id from carillon.parcels g
    where g.target_id = p_target and g.slots is not null and g.turn = 'granted' and g.lease_until is null for update skip locked);
  update carillon.parcels p set turn = case when d.due_at <= v_now then 'waits'::carillon.parcel_turn end,
    ready_at = case when d.due_at <= v_now then 'infinity' else d.due_at end,
    waited_at = case when d.due_at <= v_now then coalesce(p.waited_at, v_now) else p.waited_at end,
    offer_at = case when d.due_at <= v_now then 'infinity' else greatest(v_now + interval '20 seconds', d.due_at - interval '150 seconds') end
  from (select g.id, g.turn_at - coalesce(g.priority, 0) * interval '10 minutes' as due_at from carillon.parcels g
    where g.target_id = p_target and g.turn is null and g.turn_at is not null and g.lease_until is null and g.held_schedule is null and g.lane is null
    for update skip locked) d
  where p.id = d.id;
  update carillon.targets t set busy_until = null, next_at = null, slipped_ms = 0, spread_to = null where t.id = p_target;
  return query select * from carillon.grant_turns(p_target, v_now, 200);
end $$;
