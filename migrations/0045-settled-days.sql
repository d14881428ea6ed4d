-- carillon: back to 31
-- A day of jobs may go when every shard has left it behind and none of its jobs waits. Until now it went by the clock and the parcels: a shard that is
-- weeks behind, in another tick's share, may still write to it; and a job whose parcel is lost was dropped though it waits.

-- What a look at all jobs of a day has found, so that a day is read once: one of them that waits, or nulls where none does. What was written to the day on
-- the day of the look or later (carillon.stirred_days) makes it void.
create table carillon.looked_days (
  day date primary key,
  looked_on date not null,
  occurrence timestamptz(3),
  schedule_id bigint,
  kind carillon.job_kind,
  n int
);

-- Whether a job of this day waits: what the last look has found, or, where p_look, a look at all of them; null where that would take one. No index leads
-- to them: it would be written whenever a job is settled.
create function carillon.day_waits(p_day date, p_look boolean) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = on
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
  -- With the instants in its text only this day's table is planned and locked.
  execute format('select j.occurrence, j.schedule_id, j.kind, j.n from carillon.jobs j
    where j.occurrence >= %L and j.occurrence < %L and j.state = ''waiting'' limit 1', v_from, v_from + interval '1 day')
  into v_found.occurrence, v_found.schedule_id, v_found.kind, v_found.n;
  insert into carillon.looked_days as l (day, looked_on, occurrence, schedule_id, kind, n)
  values (p_day, (carillon.clock() at time zone 'UTC')::date, v_found.occurrence, v_found.schedule_id, v_found.kind, v_found.n)
  on conflict (day) do update set looked_on = excluded.looked_on, occurrence = excluded.occurrence, schedule_id = excluded.schedule_id,
    kind = excluded.kind, n = excluded.n;
  return v_found.occurrence is not null;
end $$;

revoke execute on function carillon.day_waits(date, boolean) from public;

-- As in 0037, but for days that a shard has not left behind, by as much as carillon.attach_days keeps, and for jobs that wait. One call looks at all jobs of
-- one day at most: the days behind it are for the next call. Nothing of a pulse lies in these days, so how far pulses have come is not asked.
create or replace function carillon.settled_days(p_retention interval) returns setof date
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_day date;
  v_from timestamptz;
  v_parcel bigint;
  v_waits boolean;
  v_may_look boolean := true;
  v_last date := ((carillon.clock() - p_retention) at time zone 'UTC')::date - 1;
  v_planned date := (select (min(s.watermark_at) at time zone 'UTC' - interval '1 day')::date from carillon.shards s);
begin
  delete from carillon.looked_days l
  where not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'carillon.jobs'::regclass and right(c.relname, 8) = to_char(l.day, 'YYYYMMDD'));
  for v_day in select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent = 'carillon.jobs'::regclass order by 1 loop
    exit when v_day > v_last or v_day >= v_planned;
    -- A day that was written counts from then on.
    continue when exists (select from carillon.stirred_days s where s.day = v_day and s.on_day > v_last);
    v_from := v_day::timestamp at time zone 'UTC';
    continue when exists (
      select from carillon.open_days d join carillon.parcels p on p.id = d.parcel_id
      where d.day = v_day and exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day'));
    select p.id into v_parcel from carillon.parcels p
    where exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day') limit 1;
    if v_parcel is null then
      delete from carillon.open_days o where o.day = v_day;
      v_waits := carillon.day_waits(v_day, false);
      if v_waits is null then
        exit when not v_may_look;
        v_may_look := false;
        v_waits := carillon.day_waits(v_day, true);
      end if;
      continue when v_waits;
      return next v_day;
    else
      insert into carillon.open_days (day, parcel_id) values (v_day, v_parcel)
      on conflict (day) do update set parcel_id = excluded.parcel_id;
    end if;
  end loop;
end $$;

-- Cadences that no version names any more, as purged schedules leave them, are reclaimed: a hand goes round all of them by their ids, some at each tick.
create table carillon.cadence_round (
  id boolean primary key default true,
  -- The last id that has been looked at; 0 before a round.
  place int not null default 0,
  look_at timestamptz(3) not null default carillon.clock(),
  constraint cadence_round_has_one_row check (id)
);

insert into carillon.cadence_round default values;

-- The cadence, kept from being reclaimed until this transaction ends; null where it is gone already. A version that names it keeps it from then on.
create function carillon.keep_cadence(p_id int) returns int
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$ select c.id from carillon.cadences c where c.id = p_id for key share $$;

-- Looks at the next p_max cadences and deletes those that no version names. A cadence that an edit is about to name is locked, and passed over; locked
-- here, it keeps that edit waiting until it is gone, and the edit makes it again. The second look is a statement of its own: it sees the versions that
-- were committed before the lock. Rows of the plan that outlive their schedule may go on naming it: a reader finds none and lets them go.
create function carillon.reclaim_cadences(p_max int) returns table (looked int, gone int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- Also for the check of the foreign key: the planner may think that a cadence has so many versions that all are better read.
  set enable_seqscan = off
  as $$
declare
  v_place int;
  v_looked int[];
  v_unused int[];
begin
  select r.place into v_place from carillon.cadence_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select c.id from carillon.cadences c where c.id > v_place order by c.id limit p_max);
  v_unused := array(
    select u.id from unnest(v_looked) u (id)
    where not exists (select from carillon.schedule_versions v where v.cadence_id = u.id offset 0));
  v_unused := array(select c.id from carillon.cadences c where c.id = any(v_unused) order by c.id for update skip locked);
  delete from carillon.cadences c
  where c.id = any(v_unused) and not exists (select from carillon.schedule_versions v where v.cadence_id = c.id offset 0);
  get diagnostics gone = row_count;
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.cadence_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = carillon.clock() + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;

revoke execute on function carillon.keep_cadence(int), carillon.reclaim_cadences(int) from public;
grant execute on function carillon.keep_cadence(int) to carillon_tick, carillon_handler, carillon_ingest, carillon_api;
grant execute on function carillon.reclaim_cadences(int) to carillon_tick;
grant select on carillon.cadence_round to carillon_tick;
