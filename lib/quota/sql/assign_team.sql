-- Gives schedules that are older than a team to it, and counts them. What was written before counts for the former
-- team. One call looks at the next keys of the
-- prefix, whether or not they need it. It stops before a schedule that another transaction has locked; the next
-- call begins there.
-- A schedule of a grouped handler keeps its lane until a tick follows the handler, which is marked for that.
-- Locks: schedules, by a try; then their rows of the backlog (carillon.move_backlog), and rows of carillon.usage as
-- carillon.note_usage does; the rows of grouped handlers in carillon.targets; the row of the team.
-- Returns: whether the next call has more to do at once.
-- Called by: assignTeams in lib/tick/housekeeping/count-teams.ts.
create or replace function carillon.assign_team(p_team int, p_most int) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_prefix text collate "C";
  v_reached text collate "C";
  v_shorter int[];
  v_looked int;
  v_locked text collate "C";
  v_last text collate "C";
  v_noted text;
  v_grouped int[];
begin
  select t.prefix, t.reached into strict v_prefix, v_reached from carillon.teams t where t.id = p_team;
  v_shorter := array(select t.id from carillon.teams t where starts_with(v_prefix, t.prefix) and t.id <> p_team);
  with looked as materialized (
    select s.id, s.key, s.team_id as former, s.team_id is null or s.team_id = any(v_shorter) as needs
    from carillon.schedules s
    where s.key > v_reached and s.key >= v_prefix and s.key < v_prefix || chr(1114111) and s.deleted_at is null
    order by s.key limit p_most
  ), free as materialized (
    select s.id, l.key, l.former from looked l join carillon.schedules s on s.id = l.id
    where l.needs order by l.key for no key update of s skip locked
  ), stop as (
    select min(l.key) as key from looked l where l.needs and l.id not in (select f.id from free f)
  ), moved as (
    update carillon.schedules s set team_id = p_team from free f, stop
    where s.id = f.id and (stop.key is null or f.key < stop.key)
    returning s.id, f.former, carillon.per_year_of(s.rule, s.per_year) as per_year, coalesce(s.payload_bytes, 0) as payload_bytes,
      case when s.lane like 'grouped/%' then s.target_id end as grouped_target
  ), sums as (
    select c.team_id, (m.id / 262144)::int as block, sum(c.sign)::int as schedules, sum(c.sign * m.per_year)::bigint as per_year,
      sum(c.sign * m.payload_bytes)::bigint as payload_bytes
    from moved m cross join lateral (values (p_team, 1), (m.former, -1)) c (team_id, sign)
    where c.team_id is not null group by 1, 2
  )
  select (select count(*) from looked), stop.key, (select max(l.key) from looked l where stop.key is null or l.key < stop.key), (
    select carillon.note_usage(array_agg(s.team_id), array_agg(s.block), array_agg(s.schedules), array_agg(s.per_year), array_agg(s.payload_bytes),
      array_agg(0::bigint))::text
    from sums s having count(*) > 0),
    (select array_agg(distinct m.grouped_target) from moved m where m.grouped_target is not null)
  into v_looked, v_locked, v_last, v_noted, v_grouped from stop;
  if v_grouped is not null then
    update carillon.targets t set regrouped_at = carillon.clock() where t.id = any(v_grouped);
  end if;
  update carillon.teams t set reached = coalesce(v_last, t.reached),
    assigned_at = case when v_looked < p_most and v_locked is null then carillon.clock() end
  where t.id = p_team;
  return v_looked = p_most and v_locked is null;
end $$;
