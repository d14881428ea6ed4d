-- Names the lane that all jobs of a schedule pass because of its group: grouped/<handler>/<group> if its
-- handler takes the due jobs of a group together, else group/<group> if the schedule is serial. A schedule of
-- a grouped handler need not be serial.
-- Locks: none.
-- Returns: the name of the lane; null for nearly all schedules.
-- Called by: laneOfRow in lib/schedule/stored/version-rows.ts, for a schedule's row; lockLanesToPass in
-- lib/batch/lock-many.ts, for the lanes to be locked; behind and followOnce in lib/tick/housekeeping/follow-handlers.ts,
-- where a handler has become grouped or stopped being so.
create or replace function carillon.lane_for(p_target text, p_group text, p_serial boolean) returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_group is null then null
      when exists (select from carillon.targets t where t.name = p_target and t.grouped) then 'grouped/' || substr(p_target, 9) || '/' || p_group
      when p_serial then 'group/' || p_group end
  $$;
