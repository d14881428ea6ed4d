-- Gives the turn in each of these lanes to the parcel that waits there for it: the parcel leaves the lane's
-- queue and can be claimed now. A lane is left as it is where its next job waits elsewhere or may not pass
-- yet.
-- Locks: the parcels that get a turn. The caller holds the locks of the lanes.
-- Returns: the parcels to be sent.
-- Called by: carillon.leave_lanes, carillon.pass_lanes and carillon.hand_over_lanes as their last statement,
-- and carillon.sweep_lanes once it has the lanes.
create or replace function carillon.free_lanes(p_lanes text[], p_now timestamptz) returns table (id bigint, queue carillon.queue_class)
  language sql volatile
  as $$
    update carillon.parcels p set lane = null, ready_at = p_now, offer_at = p_now + interval '20 seconds', offers = 0
    from unnest(p_lanes) l (lane) cross join lateral (
      select f.parcel_id, f.may_pass from carillon.lane_front(l.lane, p_now) f where l.lane not like 'grouped/%'
      union all
      select f.parcel_id, f.may_pass from carillon.grouped_front(l.lane, p_now) f where l.lane like 'grouped/%') f
    where p.id = f.parcel_id and p.lane = l.lane and f.may_pass
    returning p.id, p.queue
  $$;
