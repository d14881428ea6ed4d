-- Deletes the rows of pulses whose schedules' rows are deleted.
-- Locks: the rows of these pulses.
-- Returns: nothing.
-- Called by: the trigger schedules_pulse_gone, after delete on carillon.schedules, for each statement.
create or replace function carillon.forget_pulses() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  delete from carillon.pulses p using gone g where p.schedule_id = g.id;
  return null;
end $$;
