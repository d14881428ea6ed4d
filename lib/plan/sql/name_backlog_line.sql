-- Gives a new row of the backlog its line: the number of its target, where its jobs travel apart from those of
-- other targets, and of its team; 0 for none.
-- Locks: none.
-- Returns: the row.
-- Called by: trigger backlog_named, before insert on carillon.backlog, for each row.
create or replace function carillon.name_backlog_line() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  select carillon.apart_target(s.queue, s.target_id), s.team_id into new.target_id, new.team_id from carillon.schedules s where s.id = new.schedule_id;
  new.target_id := coalesce(new.target_id, 0);
  new.team_id := coalesce(new.team_id, 0);
  return new;
end $$;
