-- Counts the schedules of one block of ids, and corrects the usage of their teams by it. Both are read in one
-- snapshot: an edit is in both or in neither. A change of the tables by hand leaves a difference.
-- Bytes that were written today cannot be counted again: their rows stay until the day is over.
-- Locks: rows of carillon.usage that count nothing, by a try; the row of carillon.team_list.
-- Returns: the number of teams whose usage was corrected.
-- Called by: recountUsage in lib/tick/housekeeping/count-teams.ts.
create or replace function carillon.recount_usage() returns int
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_block int;
  v_last bigint;
  v_corrected int;
begin
  select l.counted_block into strict v_block from carillon.team_list l;
  with counted as (
    select s.team_id, count(*)::int as schedules, sum(carillon.per_year_of(s.rule, s.per_year))::bigint as per_year,
      sum(coalesce(s.payload_bytes, 0))::bigint as payload_bytes
    from carillon.schedules s
    where s.id >= v_block * 262144::bigint and s.id < (v_block + 1) * 262144::bigint and s.deleted_at is null and s.team_id is not null
    group by 1
  ), noted as (
    select u.team_id, sum(u.schedules)::int as schedules, sum(u.per_year)::bigint as per_year, sum(u.payload_bytes)::bigint as payload_bytes
    from carillon.usage u where u.block = v_block group by 1
  ), corrected as (
    insert into carillon.usage (team_id, block, n, schedules, per_year, payload_bytes)
    select team_id, v_block, (random() * 2147483647)::int, d.schedules, d.per_year, d.payload_bytes
    from counted c full join noted n using (team_id) cross join lateral (
      select coalesce(c.schedules, 0) - coalesce(n.schedules, 0) as schedules, coalesce(c.per_year, 0) - coalesce(n.per_year, 0) as per_year,
        coalesce(c.payload_bytes, 0) - coalesce(n.payload_bytes, 0) as payload_bytes) d
    where (d.schedules, d.per_year, d.payload_bytes) <> (0, 0, 0)
    returning 1
  )
  select count(*)::int into v_corrected from corrected;
  delete from carillon.usage u using (
    select z.team_id, z.n from carillon.usage z
    where z.block = v_block and z.schedules = 0 and z.per_year = 0 and z.payload_bytes = 0
      and (z.written_bytes = 0 or z.written_on < (carillon.clock() at time zone 'UTC')::date) for update skip locked) none
  where u.block = v_block and u.team_id = none.team_id and u.n = none.n;
  select coalesce(max(s.id), 0) into v_last from carillon.schedules s;
  update carillon.team_list l set counted_at = carillon.clock(),
    counted_block = case when (v_block + 1) * 262144::bigint > v_last then 0 else v_block + 1 end;
  return v_corrected;
end $$;
