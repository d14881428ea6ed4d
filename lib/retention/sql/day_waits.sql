-- Tells whether a job of this day waits, by the result of the last look at the day. That result holds while
-- the waiting job that it found still waits, or, if it found none, until a write to the day on the date of
-- the look or later. Otherwise, with p_look, the jobs of the day are read until one is found that waits, and
-- the result is kept in looked_days.
-- No index leads to waiting jobs: each settle would have to write to it.
-- Locks: the row of the day in looked_days, after a look.
-- Returns: whether a job waits; null if only a look could tell and p_look is false.
-- Called by: carillon.look_at_day, with p_look.
create or replace function carillon.day_waits(p_day date, p_look boolean) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = on set plan_cache_mode = force_custom_plan
  as $$
declare
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_found carillon.looked_days;
begin
  select l.* into v_found from carillon.looked_days l where l.day = p_day;
  if v_found.occurrence is not null then
    if exists (select from carillon.jobs j where j.occurrence = v_found.occurrence and j.schedule_id = v_found.schedule_id and j.kind = v_found.kind
               and j.n = v_found.n and j.state = 'waiting') then
      return true;
    end if;
  elsif v_found.day is not null
    and not exists (select from carillon.stirred_days s where s.day = p_day and s.on_day >= v_found.looked_on) then
    return false;
  end if;
  if not p_look then return null; end if;
  -- The instants stand in the text, so that only the table of this day is planned and locked.
  execute format('select j.occurrence, j.schedule_id, j.kind, j.n from carillon.jobs j
    where j.occurrence >= %L and j.occurrence < %L and j.state = ''waiting'' limit 1', v_from, v_from + interval '1 day')
  into v_found.occurrence, v_found.schedule_id, v_found.kind, v_found.n;
  insert into carillon.looked_days as l (day, looked_on, occurrence, schedule_id, kind, n)
  values (p_day, (carillon.clock() at time zone 'UTC')::date, v_found.occurrence, v_found.schedule_id, v_found.kind, v_found.n)
  on conflict (day) do update set looked_on = excluded.looked_on, occurrence = excluded.occurrence, schedule_id = excluded.schedule_id,
    kind = excluded.kind, n = excluded.n;
  return v_found.occurrence is not null;
end $$;
