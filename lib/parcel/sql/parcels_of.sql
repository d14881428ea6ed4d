-- Finds the parcels with jobs of some schedules. A parcel that waits in a lane or for a hold has jobs of one
-- schedule, and an index finds it: a team may have hundreds of thousands of them, and an edit that read all of
-- them kept the gates of its shards closed meanwhile. All other parcels are read: those that are sent, under a
-- lease, or wait for a turn or a retry.
-- Locks: none.
-- Returns: the ids of the parcels, in no order.
-- Called by: enterLanes and markRunning in lib/parcel/lanes.ts, openJobsOf in lib/history/open-jobs.ts,
-- withOpenJobs in lib/job-control/delete-ended.ts, withdrawUnread in lib/job/withdraw.ts, askToStop in lib/batch/cancel-label.ts,
-- readOpenJobs and runningAmong in lib/move/read-moving.ts.
create or replace function carillon.parcels_of(p_schedules bigint[]) returns setof bigint
  language sql stable rows 10
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
    select p.id from unnest(p_schedules) s (id) join carillon.parcels p on p.schedule_ids[1] = s.id where p.lane is not null
    union all
    select p.id from unnest(p_schedules) s (id) join carillon.parcels p on p.held_schedule = s.id
    union all
    select p.id from carillon.parcels p
    where p.lane is null and p.offer_at > '-infinity' and p.held_schedule is null and p.schedule_ids && p_schedules
  $$;
