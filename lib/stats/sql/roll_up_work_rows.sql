-- Moves the cost of targets on by these rows of target_work, and deletes them. A hundred jobs weigh as much
-- as all jobs before them. Rows that are locked or gone are passed over.
-- The rows of a locked target are deleted without being added: later rows will move its cost on.
-- Locks: the rows, skipping locked ones; then their targets, by id, skipping locked ones.
-- Returns: the number of rows that were taken.
-- Called by: carillon.roll_up_work; addWork in lib/tick/housekeeping/roll-up-apart.ts, for the parts of a roll-up that has
-- failed.
create or replace function carillon.roll_up_work_rows(p_rows tid[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as materialized (
    delete from carillon.target_work w
    where w.ctid = any (array(select p.ctid from carillon.target_work p where p.ctid = any (p_rows) for update skip locked))
    returning w.target_id, w.jobs, w.ms
  ), worked as materialized (
    select t.target_id, sum(t.jobs) as jobs, sum(t.ms) / sum(t.jobs) as cost_ms from taken t group by t.target_id
  ), free as materialized (
    select t.id from carillon.targets t where t.id in (select w.target_id from worked w) order by t.id for update skip locked
  ), moved as (
    update carillon.targets t set cost_ms = coalesce(t.cost_ms + (w.cost_ms - t.cost_ms) * w.jobs / (w.jobs + 100), w.cost_ms)
    from worked w join free f on f.id = w.target_id where t.id = w.target_id
  )
  select count(*) into v_taken from taken;
  return v_taken;
end $$;
