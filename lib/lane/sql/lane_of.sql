-- Names a schedule's own lane, which its cadence jobs pass if the schedule has an overlap rule.
-- Locks: none.
-- Returns: schedule/<id>.
-- Called by: carillon.leave_lanes, carillon.pass_lanes, carillon.lanes_of and carillon.lock_lanes;
-- laneEntries in lib/parcel/lanes.ts, writeJobs in lib/move/arrive-jobs.ts.
create or replace function carillon.lane_of(p_schedule bigint) returns text
  language sql immutable parallel safe
  as $$ select 'schedule/' || p_schedule $$;
