-- Lists the days of jobs that are older than the retention and in which nothing is open: no parcel has a job
-- of the day, the day was not written to within the retention, and every shard has left it behind by a day. A
-- parcel that keeps a day is remembered in open_days, so that the next call does not search all parcels.
-- It reads no jobs, not even the one that an earlier look has found. A failure or a locked row would keep all
-- days.
-- Locks: only the rows that it writes in looked_days and open_days.
-- Returns: one row for each day, the oldest first. `to_look`: carillon.look_at_day has to look at the jobs of
-- the day before it may be dropped.
-- Called by: carillon.drop_day_of_jobs; jobDays in lib/retention/drop-days.ts; lookAtDays in
-- lib/retention/past-days.ts; archiveLagMs in lib/retention/archive-lag.ts; daysToArchive in
-- lib/archive/archived-day.ts.
create or replace function carillon.past_days(p_retention interval) returns table (day date, to_look boolean)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_day date;
  v_from timestamptz;
  v_parcel bigint;
  v_last date := ((carillon.clock() - p_retention) at time zone 'UTC')::date - 1;
  v_planned date := (select (min(s.watermark_at) at time zone 'UTC' - interval '1 day')::date from carillon.shards s);
begin
  delete from carillon.looked_days l
  where not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'carillon.jobs'::regclass and right(c.relname, 8) = to_char(l.day, 'YYYYMMDD'));
  for v_day in select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
               where i.inhparent = 'carillon.jobs'::regclass order by 1 loop
    exit when v_day > v_last or v_day >= v_planned;
    -- The retention of a day counts from the last write to it.
    continue when exists (select from carillon.stirred_days s where s.day = v_day and s.on_day > v_last);
    v_from := v_day::timestamp at time zone 'UTC';
    continue when exists (
      select from carillon.open_days d join carillon.parcels p on p.id = d.parcel_id
      where d.day = v_day and exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day'));
    select p.id into v_parcel from carillon.parcels p
    where exists (select from unnest(p.occurrences) o where o >= v_from and o < v_from + interval '1 day') limit 1;
    if v_parcel is null then
      delete from carillon.open_days o where o.day = v_day;
      day := v_day;
      to_look := not exists (
        select from carillon.looked_days l where l.day = v_day and l.occurrence is null
          and not exists (select from carillon.stirred_days s where s.day = v_day and s.on_day >= l.looked_on));
      return next;
    else
      insert into carillon.open_days (day, parcel_id) values (v_day, v_parcel)
      on conflict (day) do update set parcel_id = excluded.parcel_id;
    end if;
  end loop;
end $$;
