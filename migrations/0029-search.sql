-- Search: each filter of `GET /v1/schedules` has an access path that gives its schedules in the order of the list, so that a page costs
-- what it returns, whatever there is besides.

-- A tag and the key of a live schedule that has it. An inverted index tells who has a tag, but not in order: each page would sort
-- them all. Schedules without tags cost nothing.
create table carillon.schedule_tags (
  tag text collate "C" not null,
  key text collate "C" not null,
  -- Read by lists of a tag, and where one is paused or cancelled.
  primary key (tag, key)
);

insert into carillon.schedule_tags (tag, key)
select distinct t.tag, s.key from carillon.schedules s cross join lateral unnest(s.tags) t (tag)
where s.deleted_at is null and s.tags <> '{}';

drop index carillon.schedules_tags;

-- Kept by the table itself: there are many ways to a schedule. Those that a statement makes have their tags noted together.
create function carillon.note_tags() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.schedule_tags (tag, key)
  select t.tag, m.key from made m cross join lateral unnest(m.tags) t (tag) where m.deleted_at is null
  on conflict do nothing;
  return null;
end $$;

create function carillon.note_other_tags() returns trigger
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

create trigger schedules_tagged after insert on carillon.schedules
  referencing new table as made for each statement execute function carillon.note_tags();
create trigger schedules_retagged after update of tags, deleted_at on carillon.schedules
  for each row when (old.tags <> new.tags or ((old.deleted_at is null) <> (new.deleted_at is null) and old.tags <> '{}'))
  execute function carillon.note_other_tags();

-- Read by lists of a target, in the order of keys; of a kind of target, those of its targets are merged. (Who plans without statistics
-- would take an index of all that live for a short cut to them; this one is taken only where targets are spoken of.)
create index schedules_target on carillon.schedules (target_id, key) where deleted_at is null and target_id is not null;

-- Read by lists of what is paused. Only what is held has an entry.
create index schedules_paused on carillon.schedules (key) where deleted_at is null and held_since is not null;

-- Read by lists of what a name has made, where that is little. Of a name that made much, the walk through all keys meets enough. Names
-- repeat, so that an entry is little more than the place of its row. Of all schedules, for the same reason.
create index schedules_created_by on carillon.schedules (created_by);

-- With the schedule, as the near plan's has it: many far ones are due at the same instant, and a page ends between two of them.
drop index carillon.plan_far_due;
create index plan_far_due on carillon.plan_far (shard, due_at, schedule_id);

revoke execute on function carillon.note_tags(), carillon.note_other_tags() from public;
grant select, insert, delete on carillon.schedule_tags to carillon_api, carillon_handler, carillon_tick;
