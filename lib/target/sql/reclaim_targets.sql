-- Goes through these targets: deletes those that have been marked as unused for long, marks those that are
-- unused, and takes the mark off those that are used. A target that an edit is about to name is locked, and
-- passed over. An edit that names a target locked here waits until it is deleted, and makes it again.
-- Locks: the rows of the targets, ascending, with skip locked. Whether they are unused is read by a later
-- statement, which sees what was committed before the locks.
-- Returns: the number of targets deleted.
-- Called by: reclaim in lib/tick/housekeeping/reclaim-targets.ts.
create or replace function carillon.reclaim_targets(p_ids int[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_locked int[];
  v_unused int[];
  v_gone int;
begin
  v_locked := array(select t.id from carillon.targets t where t.id = any(p_ids) order by t.id for update skip locked);
  v_unused := array(select t.id from carillon.targets t where t.id = any(v_locked) and carillon.is_unused(t));
  delete from carillon.targets t where t.id = any(v_unused) and carillon.is_long_unused(t, v_now);
  get diagnostics v_gone = row_count;
  update carillon.targets t set unused_at = case when t.id = any(v_unused) then v_now end
  where t.id = any(v_locked) and (t.unused_at is null) = (t.id = any(v_unused));
  return v_gone;
end $$;
