-- Counts by how many a statement changes the number of live schedules, and of held ones among them. Many
-- schedules are written at once, so it writes one row per statement, and none if the numbers stay.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: triggers schedules_tally_made, schedules_tally_changed and schedules_tally_gone, after insert,
-- update and delete on carillon.schedules, for each statement.
create or replace function carillon.tally_schedules() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_schedules int := 0;
  v_held int := 0;
  v_row record;
begin
  if tg_op <> 'DELETE' then
    select count(*) as count, count(n.held_since) as held into v_row from new_schedules n where n.deleted_at is null;
    v_schedules := v_row.count;
    v_held := v_row.held;
  end if;
  if tg_op <> 'INSERT' then
    select count(*) as count, count(o.held_since) as held into v_row from old_schedules o where o.deleted_at is null;
    v_schedules := v_schedules - v_row.count;
    v_held := v_held - v_row.held;
  end if;
  if v_schedules <> 0 or v_held <> 0 then
    insert into carillon.schedule_tallies (schedules, held) values (v_schedules, v_held);
  end if;
  return null;
end $$;
