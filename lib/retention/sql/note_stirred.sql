-- Notes that a day of jobs that is long over was written today. The day is then kept as if it were of today,
-- and earlier looks and archives of it are void.
-- Nearly every job is made and settled within a day of its occurrence, and pays only for the condition of the
-- trigger. The condition asks Postgres's own clock, which costs a hundredth of carillon.clock(). Two writes
-- at once may note the same row twice, so that neither waits for the other.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_stirred, after insert or update on carillon.jobs, for each row whose occurrence is
-- more than 24 hours old.
create or replace function carillon.note_stirred() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_day date := (new.occurrence at time zone 'UTC')::date;
  v_today date := (carillon.clock() at time zone 'UTC')::date;
begin
  if v_day < v_today - 1 and not exists (select from carillon.stirred_days d where d.day = v_day and d.on_day = v_today) then
    insert into carillon.stirred_days (day, on_day) values (v_day, v_today);
  end if;
  return null;
end $$;
