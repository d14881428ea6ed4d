-- Finds the parcel that gets the turn in a grouped handler's lane: of the parcels that wait in this lane, the
-- first in due order. Its job is due, and its schedule is neither deleted nor held (a hold does not stop a
-- manual job). The claim of this parcel brings the other due jobs along.
-- Locks: none. The caller holds the lane.
-- Returns: the parcel, with may_pass = true. No row while a job that has entered the lane is under a lease,
-- or if no such parcel waits.
-- Called by: carillon.free_lanes, for lanes of grouped handlers.
create or replace function carillon.grouped_front(p_lane text, p_now timestamptz) returns table (parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    select j.parcel_id, true
    from carillon.lane_entries e cross join lateral (
      select j.parcel_id
      from carillon.jobs j join carillon.parcels p on p.id = j.parcel_id and p.lane = p_lane join carillon.schedules s on s.id = j.schedule_id
      where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
        and coalesce(s.deleted_at, 'infinity') = 'infinity'
        and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j
    where e.lane = p_lane and e.due_at <= p_now and not carillon.lane_is_busy(p_lane, null)
    order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1
  $$;
