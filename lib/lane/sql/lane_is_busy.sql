-- Says whether a job that has entered a grouped handler's lane is under a lease in another parcel than
-- p_parcel (null: in any parcel). A job that waits for its next attempt is not under a lease and keeps no
-- other job back.
-- Locks: none. The caller holds the lane.
-- Returns: true if there is such a job.
-- Called by: carillon.pass_lanes (its step `free`), with the claimed parcel; carillon.grouped_front, with
-- null.
create or replace function carillon.lane_is_busy(p_lane text, p_parcel bigint) returns boolean
  language sql stable
  as $$
    select exists (
      select from carillon.lane_entries e cross join lateral (
        select from carillon.jobs j
        join carillon.parcels p on p.id = j.parcel_id and p.lease_until is not null and p.id is distinct from p_parcel
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting' offset 0) j
      where e.lane = p_lane and e.entered)
  $$;
