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
