-- carillon: back to 31
-- One schedule that cannot be deleted is set aside, and the purge goes on behind it.

-- Takes the purge past the next schedule, and answers with its id; null where there is none. Called where a step that looks at this schedule alone has
-- failed. A step over no schedule begins the round where it has not begun: it notes the time and forgets old pulses, whatever the first
-- schedule is.
create function carillon.pass_purge(p_retention interval) returns bigint
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

revoke execute on function carillon.pass_purge(interval) from public;
grant execute on function carillon.pass_purge(interval) to carillon_tick;
