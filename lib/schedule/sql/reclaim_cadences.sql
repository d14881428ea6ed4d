-- Looks at the next p_max cadences by id, and deletes those that no version names. At the end of a round it
-- sets the next look to an hour later.
-- A cadence that an edit is about to name is locked by carillon.keep_cadence, and is passed over. If the
-- cadence is locked here first, the edit waits until it is gone and makes it again. The second test is a
-- statement of its own: it sees versions that were committed before the lock.
-- Plan rows that outlive their schedule may still name the cadence. A reader then finds none, and passes over
-- the row.
-- Locks: the row of carillon.cadence_round; none if another tick has it. Then the unused cadences for update,
-- by id; locked ones are passed over.
-- Returns: one row: how many cadences were looked at and deleted. No row if another tick has the round.
-- Called by: reclaimCadences in lib/tick/housekeeping/reclaim-cadences.ts.
create or replace function carillon.reclaim_cadences(p_max int) returns table (looked int, gone int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- Also for the check of the foreign key: the planner may expect many versions of a cadence, and read all
  -- versions instead.
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
