-- Names the lane that all jobs of a schedule pass because of its group: grouped/<handler>/<group> if its
-- handler takes the due jobs of a group together, with grouped/<handler>@<team>/<group> for a schedule that has
-- a team; else group/<group> if the schedule is serial. A schedule of a grouped handler need not be serial.
-- A call of a grouped handler never has the jobs of two teams. Serial jobs exclude each other across teams.
-- Functions of an earlier release leave p_team out, and name the lane of no team.
-- Locks: none.
-- Returns: the name of the lane; null for nearly all schedules.
-- Called by: laneOfRow in lib/schedule/stored/version-rows.ts, for a schedule's row; lockLanesToPass in
-- lib/batch/lock-many.ts, for the lanes to be locked; behind and followOnce in lib/tick/housekeeping/follow-handlers.ts,
-- where a handler has become grouped or stopped being so, or a schedule got a team.
create or replace function carillon.lane_for(p_target text, p_group text, p_serial boolean, p_team int default null) returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_group is null then null
      when exists (select from carillon.targets t where t.name = p_target and t.grouped)
        then 'grouped/' || substr(p_target, 9) || coalesce('@' || p_team, '') || '/' || p_group
      when p_serial then 'group/' || p_group end
  $$;
