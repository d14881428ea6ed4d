-- Gives schedules that are older than a team to it, in the order of their keys, and counts them. A schedule that
-- another transaction has locked is passed over; the walk then begins again at its end.
-- Locks: schedules, by a try; then rows of carillon.usage as carillon.note_usage does; the row of the team.
-- Returns: the number of schedules, and whether the walk is over.
-- Called by: assignTeams in lib/tick/housekeeping/count-teams.ts.
create or replace function carillon.assign_team(p_team int, p_most int, out assigned int, out done boolean)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_prefix text collate "C";
  v_end text collate "C";
  v_reached text collate "C";
  v_shorter int[];
  v_last text collate "C";
  v_noted text;
begin
  select t.prefix, t.prefix || chr(1114111), t.reached into strict v_prefix, v_end, v_reached from carillon.teams t where t.id = p_team;
  v_shorter := array(select t.id from carillon.teams t where starts_with(v_prefix, t.prefix) and t.id <> p_team);
  with portion as materialized (
    select s.id, s.key, s.team_id from carillon.schedules s
    where s.key > v_reached and s.key >= v_prefix and s.key < v_end and s.deleted_at is null
      and (s.team_id is null or s.team_id = any(v_shorter))
    order by s.key limit p_most for no key update skip locked
  ), moved as (
    update carillon.schedules s set team_id = p_team from portion p where s.id = p.id
    returning p.id, p.key, p.team_id as former, carillon.per_year_of(s.rule) as per_year, coalesce(s.payload_bytes, 0) as payload_bytes
  ), sums as (
    select c.team_id, (m.id / 262144)::int as block, sum(c.sign)::int as schedules, sum(c.sign * m.per_year)::bigint as per_year,
      sum(c.sign * m.payload_bytes)::bigint as payload_bytes
    from moved m cross join lateral (values (p_team, 1), (m.former, -1)) c (team_id, sign)
    where c.team_id is not null group by 1, 2
  )
  select (select count(*)::int from moved), (select max(m.key) from moved m), (
    select carillon.note_usage(array_agg(s.team_id), array_agg(s.block), array_agg(s.schedules), array_agg(s.per_year), array_agg(s.payload_bytes))::text
    from sums s having count(*) > 0)
  into assigned, v_last, v_noted;
  done := false;
  if assigned = p_most then
    update carillon.teams t set reached = v_last where t.id = p_team;
    return;
  end if;
  done := not exists (
    select from carillon.schedules s
    where s.key >= v_prefix and s.key < v_end and s.deleted_at is null and (s.team_id is null or s.team_id = any(v_shorter)));
  update carillon.teams t set reached = '', assigned_at = case when done then carillon.clock() end where t.id = p_team;
end $$;
