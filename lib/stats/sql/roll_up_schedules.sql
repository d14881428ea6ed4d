-- Adds these rows of schedule_tallies to schedule_counts, and deletes them. Rows that are locked or gone are
-- passed over. The time of the last roll-up is written even if there is nothing to add.
-- Locks: the rows, skipping locked ones; then the row of schedule_counts.
-- Returns: the number of rows that were added.
-- Called by: carillon.roll_up; addSchedules in lib/tick/housekeeping/roll-up-apart.ts, for the parts of a roll-up that has
-- failed.
create or replace function carillon.roll_up_schedules(p_rows tid[]) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as (
    delete from carillon.schedule_tallies t
    where t.ctid = any (array(select p.ctid from carillon.schedule_tallies p where p.ctid = any (p_rows) for update skip locked))
    returning t.schedules, t.held
  ), added as (
    update carillon.schedule_counts c set schedules = c.schedules + s.schedules, held = c.held + s.held, rolled_up_at = carillon.clock()
    from (select coalesce(sum(t.schedules), 0) as schedules, coalesce(sum(t.held), 0) as held from taken t) s
  )
  select count(*) into v_taken from taken;
  return v_taken;
end $$;
