-- carillon: back to 31
-- Rows of the backlog by target: those of a target that has its share of the backlog under way are passed over without a look at any of them.

-- The target of the row's jobs where they travel apart from those of other targets; 0 where they travel together, and where the target is not known yet. It is
-- a hint: the tick compares it with the schedule when the row's turn comes, since limits come and go, and corrects it.
alter table carillon.backlog add column target_id int not null default 0;
-- As for all columns of the queues: statistics from a time when the table was empty mislead the planner.
alter table carillon.backlog alter column target_id set statistics 0;

-- Read by the tick: the rows of one target in the order of their turns.
-- safe: the table has few rows, and the index is built in a moment.
create index backlog_target on carillon.backlog (target_id, turn_at, id);

create function carillon.name_backlog_target() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  select coalesce(carillon.apart_target(s.queue, s.target_id), 0) into new.target_id from carillon.schedules s where s.id = new.schedule_id;
  new.target_id := coalesce(new.target_id, 0);
  return new;
end $$;

-- Without it the backlog of an edited schedule would wait at its former target.
create function carillon.move_backlog() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  update carillon.backlog b set target_id = coalesce(carillon.apart_target(new.queue, new.target_id), 0) where b.schedule_id = new.id;
  return null;
end $$;

-- safe: it adds the target to rows that the previous release writes, and refuses none
create trigger backlog_named before insert on carillon.backlog for each row execute function carillon.name_backlog_target();
-- safe: the same
create trigger schedules_backlog_moved after update of target_id, queue on carillon.schedules
  for each row when (old.target_id is distinct from new.target_id or old.queue <> new.queue) execute function carillon.move_backlog();

-- The targets with rows whose turn came by p_up_to, without the full ones (p_full), the one that has waited longest first; and how many rows of each are to be
-- looked at, p_max in all. It steps from target to target through the index, however many rows each target has.
create function carillon.backlog_targets(p_up_to timestamptz, p_full int[], p_max int) returns table (target_id int, rows_max int)
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

revoke execute on function carillon.name_backlog_target(), carillon.move_backlog(), carillon.backlog_targets(timestamptz, int[], int) from public;
grant execute on function carillon.backlog_targets(timestamptz, int[], int) to carillon_tick;
