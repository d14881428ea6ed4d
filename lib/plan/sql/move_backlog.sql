-- Moves the backlog of an edited schedule to its new target or team. Without it the rows would wait in the former
-- line.
-- Locks: the rows of the backlog of the schedule. The caller has the schedule.
-- Returns: null.
-- Called by: trigger schedules_backlog_moved, after update of target_id, queue or team_id on carillon.schedules, for
-- each row.
create or replace function carillon.move_backlog() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update carillon.backlog b set target_id = coalesce(carillon.apart_target(new.queue, new.target_id), 0), team_id = coalesce(new.team_id, 0)
  where b.schedule_id = new.id;
  return null;
end $$;
