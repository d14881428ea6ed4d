-- Writes the tags of new schedules into schedule_tags, once per statement. It is a trigger because schedules
-- are made in many places.
-- Locks: none but those of the inserted rows.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger schedules_tagged, after insert on carillon.schedules, for each statement.
create or replace function carillon.note_tags() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.schedule_tags (tag, key)
  select t.tag, m.key from made m cross join lateral unnest(m.tags) t (tag) where m.deleted_at is null
  on conflict do nothing;
  return null;
end $$;
