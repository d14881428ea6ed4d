-- Finds the job that has the turn in a lane that lets one job pass at a time: the lane of a schedule or of a
-- serial group. Of the jobs that have entered it is the first in due order; if none has, the first of all.
-- Several jobs have entered only if they overlapped before that was forbidden.
-- Passes over: jobs of deleted schedules and held jobs, except manual jobs and jobs that have entered and are
-- under a lease; in the lane of a group also a cadence job whose schedule still has an earlier occurrence in
-- the backlog, so that jobs of other schedules do not wait for it.
-- Locks: none. The caller holds the lane.
-- Returns: at most one row. may_pass is false while another job that has entered is under a lease, and for a
-- cadence job that has not entered while the backlog has an earlier occurrence of its schedule.
-- Called by: carillon.pass_lanes (its step `fronts`) and carillon.free_lanes, for all lanes but those of
-- grouped handlers.
create or replace function carillon.lane_front(p_lane text, p_now timestamptz)
  returns table (occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    with inside as materialized (
      select e.*, j.parcel_id, j.leased
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id, p.lease_until is not null as leased
        from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id left join carillon.parcels p on p.id = j.parcel_id
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
          and (p.lease_until is not null or (coalesce(s.deleted_at, 'infinity') = 'infinity'
            and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual'))) offset 0) j
      where e.lane = p_lane and e.entered
    )
    (select i.occurrence, i.schedule_id, i.kind, i.n, i.parcel_id, not exists (
        select from inside o
        where o.leased and (o.occurrence, o.schedule_id, o.kind, o.n) <> (i.occurrence, i.schedule_id, i.kind, i.n))
      from inside i order by i.due_at, i.occurrence, i.schedule_id, i.kind, i.n limit 1)
    union all
    (select e.occurrence, e.schedule_id, e.kind, e.n, j.parcel_id,
        e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence)
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id
        from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
          and coalesce(s.deleted_at, 'infinity') = 'infinity'
          and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j
      where e.lane = p_lane and not exists (select from inside)
        and (p_lane like 'schedule/%' or e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence))
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1)
  $$;
