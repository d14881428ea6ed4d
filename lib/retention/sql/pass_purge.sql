-- Moves the purge past the next schedule, after a step over this schedule alone has failed. At the beginning
-- of a round it first runs a step over no schedule. That step notes when the round began and deletes old rows
-- of pulses_passed: the failed step has undone both.
-- Locks: the row of carillon.purges; none if another tick has it.
-- Returns: the id of the schedule; null if there is none, or if another tick purges.
-- Called by: passOne in lib/retention/purge.ts.
create or replace function carillon.pass_purge(p_retention interval) returns bigint
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_place bigint;
begin
  select p.place into v_place from carillon.purges p for update skip locked;
  if v_place is null then
    return null;
  end if;
  if v_place = 0 then
    perform carillon.purge_schedules(p_retention, 0);
  end if;
  update carillon.purges p set place = n.id
  from (select min(s.id) as id from carillon.schedules s where s.id > v_place) n where n.id is not null
  returning n.id into v_place;
  return case when found then v_place end;
end $$;
