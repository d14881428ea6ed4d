-- Adds at most p_max rows of target_work to the costs of their targets, and deletes these rows. Rows that
-- another tick has are left to it.
-- Locks: the rows, skipping locked ones; then the targets, as carillon.roll_up_work_rows does.
-- Returns: the number of rows that were taken.
-- Called by: rollUpWork in lib/tick/housekeeping/roll-up.ts, until fewer than p_max rows are taken.
create or replace function carillon.roll_up_work(p_max int) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return carillon.roll_up_work_rows(array(select p.ctid from carillon.target_work p limit p_max for update skip locked));
end $$;
