-- Leaves out the ids that a lost database may have given out after the backup that this one was restored from.
-- A receiver knows a job by its schedule's id: with the id of a lost schedule, a new one's job would pass for a
-- repetition and be dropped. A message of the lost database would claim a new parcel with its parcel's id. A
-- thousand million ids are years of either; `bigint` has room for as many restores.
-- Locks: none; sequences are outside of the transaction.
-- Returns: nothing.
-- Called by: skipIdsAfterRestore in lib/db/migrate/other-database.ts; by the operator of a server that was
-- restored in its place (docs/restore.md).
create or replace function carillon.skip_ids() returns void
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
  select setval(each, nextval(each) + 1000000000)
  from unnest(array['carillon.parcels_id_seq', 'carillon.schedules_id_seq']::regclass[]) each
$$;
