-- Gives the target for which a parcel is kept apart, so that it carries jobs of this target only. A slow
-- parcel always is: a target that hangs is alone with its own jobs. A fast parcel is if its target has
-- limits.
-- Locks: none.
-- Returns: the target; null where jobs of several targets may travel together.
-- Called by: carillon.retry_jobs; admitTurns in lib/plan/backlog.ts, makeJob in lib/job-control/fire-now.ts and
-- fireReleases in lib/plan/release.ts, where they make parcels; carillon.name_backlog_line,
-- carillon.move_backlog, fullLineOf in lib/plan/backlog-room.ts and readFullBacklog in
-- lib/problems/full-backlog.ts, for rows of the backlog.
create or replace function carillon.apart_target(p_queue carillon.queue_class, p_target int) returns int
  language sql stable
  as $$
    select case when p_queue = 'slow' or exists (select from carillon.targets t
      where t.id = p_target and (t.concurrency is not null or t.rate_count is not null)) then p_target end
  $$;
