-- Keeps schedule_tags equal to the tags of live schedules: after an edit of the tags, a delete or a restore.
-- Locks: the rows that it deletes or inserts.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger schedules_retagged, after update of tags or deleted_at on carillon.schedules, for each
-- row whose tags have changed, or that has tags and was deleted or restored.
create or replace function carillon.note_other_tags() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if old.deleted_at is null then
    delete from carillon.schedule_tags t where t.key = old.key and t.tag = any(old.tags collate "C")
      and (new.deleted_at is not null or t.tag <> all(new.tags collate "C"));
  end if;
  if new.deleted_at is null then
    insert into carillon.schedule_tags (tag, key) select t.tag, new.key from unnest(new.tags) t (tag) on conflict do nothing;
  end if;
  return null;
end $$;
