-- Gives a new row of the backlog the number of its target, where its jobs travel apart from those of other targets; 0 where they do not.
-- Locks: none.
-- Returns: the row.
-- Called by: trigger backlog_named, before insert on carillon.backlog, for each row.
create or replace function carillon.name_backlog_target() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  select coalesce(carillon.apart_target(s.queue, s.target_id), 0) into new.target_id from carillon.schedules s where s.id = new.schedule_id;
  new.target_id := coalesce(new.target_id, 0);
  return new;
end $$;
