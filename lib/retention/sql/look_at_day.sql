-- Reads the jobs of a day until one is found that waits, and keeps the result for carillon.past_days. Reads
-- nothing if the result of the last look still holds.
-- Locks: the row of the day in looked_days, if the day is read.
-- Returns: nothing.
-- Called by: lookAtDays in lib/retention/past-days.ts.
create or replace function carillon.look_at_day(p_day date) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.day_waits(p_day, true);
end $$;
