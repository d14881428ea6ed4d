-- Tells whether the archive has all of this day: it is finished, and the day was not written to on the date
-- on which the archive began to read, or later.
-- Locks: none.
-- Returns: whether the archive has all of the day.
-- Called by: carillon.drop_day_of_jobs; jobDays in lib/retention/drop-days.ts; archiveLagMs in
-- lib/retention/archive-lag.ts; daysToArchive in lib/archive/archived-day.ts.
create or replace function carillon.is_archived(p_day date) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.archived_days a where a.day = p_day and a.archived_at is not null
      and not exists (select from carillon.stirred_days s where s.day = p_day and s.on_day >= (a.begun_at at time zone 'UTC')::date))
  $$;
