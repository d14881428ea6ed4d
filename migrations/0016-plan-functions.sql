-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Gives the targets with rows of the backlog that are due by p_up_to, without the full targets (p_full), and how
-- many rows of each the tick may read, p_max in all. The target that has waited longest comes first. It steps
-- from target to target through the index, however many rows each target has.
-- Locks: none.
-- Returns: one row per target.
-- Called by: rowsInTurn in lib/plan/backlog.ts.
create or replace function carillon.backlog_targets(p_up_to timestamptz, p_full int[], p_max int) returns table (target_id int, rows_max int)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
  as $$
    with recursive targets as (
      (select b.target_id from carillon.backlog b order by b.target_id limit 1)
      union all
      select (select b.target_id from carillon.backlog b where b.target_id > t.target_id order by b.target_id limit 1)
      from targets t where t.target_id is not null
    ), waiting as (
      select t.target_id, f.turn_at
      from targets t cross join lateral (
        select b.turn_at from carillon.backlog b where b.target_id = t.target_id and b.turn_at <= p_up_to order by b.turn_at limit 1) f
      where t.target_id <> all (p_full)
      order by f.turn_at, t.target_id limit p_max
    )
    select w.target_id, greatest(1, p_max / count(*) over ())::int from waiting w
  $$;

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
