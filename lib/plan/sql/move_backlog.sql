-- Moves the backlog of an edited schedule to its new target. Without it the rows would wait at the former target.
-- Locks: the rows of the backlog of the schedule. The edit has the schedule.
-- Returns: null.
-- Called by: trigger schedules_backlog_moved, after update of target_id or queue on carillon.schedules, for each row.
create or replace function carillon.move_backlog() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update carillon.backlog b set target_id = coalesce(carillon.apart_target(new.queue, new.target_id), 0) where b.schedule_id = new.id;
  return null;
end $$;
