-- Adds to what teams use, or takes from it. Written bytes count for the current day in UTC: the first change of a
-- row on a day forgets those of earlier days. A row that another transaction has locked is left alone: edits of
-- one team never wait for each other here.
-- Locks: one row of carillon.usage for each team and block, by a try.
-- Returns: nothing.
-- Called by: noteUsage in lib/quota/note-usage.ts, in the transaction that writes the schedules or the job;
-- carillon.assign_team; carillon.make_rechecks.
create or replace function carillon.note_usage(p_teams int[], p_blocks int[], p_schedules int[], p_per_year bigint[], p_payload_bytes bigint[],
    p_written_bytes bigint[]) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_new record;
  v_n int;
  v_today date := (carillon.clock() at time zone 'UTC')::date;
begin
  for v_new in
    select * from unnest(p_teams, p_blocks, p_schedules, p_per_year, p_payload_bytes, p_written_bytes)
      c (team_id, block, schedules, per_year, payload_bytes, written_bytes)
  loop
    select u.n into v_n from carillon.usage u
    where u.team_id = v_new.team_id and u.block = v_new.block
    order by u.n limit 1 for update skip locked;
    if found then
      update carillon.usage u set schedules = u.schedules + v_new.schedules, per_year = u.per_year + v_new.per_year,
        payload_bytes = u.payload_bytes + v_new.payload_bytes,
        written_bytes = case when u.written_on >= v_today then u.written_bytes else 0 end + v_new.written_bytes, written_on = greatest(u.written_on, v_today)
      where u.team_id = v_new.team_id and u.block = v_new.block and u.n = v_n;
    else
      -- Numbers in order would make two transactions that add a row wait for each other.
      insert into carillon.usage (team_id, block, n, schedules, per_year, payload_bytes, written_bytes, written_on)
      values (v_new.team_id, v_new.block, (random() * 2147483647)::int, v_new.schedules, v_new.per_year, v_new.payload_bytes,
        v_new.written_bytes, v_today);
    end if;
  end loop;
end $$;
