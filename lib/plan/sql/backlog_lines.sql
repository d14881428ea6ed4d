-- Gives the lines with rows of the backlog that are due by p_up_to, without the full lines (p_full_targets and
-- p_full_teams, by place), and how many rows of each the tick may read, p_max in all. A line is a target and a
-- team, each 0 for none. The line that has waited longest comes first. It steps from line to line through the
-- index, however many rows each line has.
-- Locks: none.
-- Returns: one row per line.
-- Called by: rowsInTurn in lib/plan/backlog.ts.
create or replace function carillon.backlog_lines(p_up_to timestamptz, p_full_targets int[], p_full_teams int[], p_max int)
  returns table (target_id int, team_id int, rows_max int)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
  as $$
    with recursive lines as (
      (select b.target_id, b.team_id from carillon.backlog b order by b.target_id, b.team_id limit 1)
      union all
      select n.target_id, n.team_id
      from lines l cross join lateral (
        select b.target_id, b.team_id from carillon.backlog b where (b.target_id, b.team_id) > (l.target_id, l.team_id)
        order by b.target_id, b.team_id limit 1) n
    ), waiting as (
      select l.target_id, l.team_id, f.turn_at
      from lines l cross join lateral (
        select b.turn_at from carillon.backlog b
        where b.target_id = l.target_id and b.team_id = l.team_id and b.turn_at <= p_up_to order by b.turn_at limit 1) f
      where not exists (
        select from unnest(p_full_targets, p_full_teams) u (target_id, team_id) where u.target_id = l.target_id and u.team_id = l.team_id)
      order by f.turn_at, l.target_id, l.team_id limit p_max
    )
    select w.target_id, w.team_id, greatest(1, p_max / count(*) over ())::int from waiting w
  $$;
