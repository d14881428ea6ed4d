-- Notes that these live schedules are over, for the purge. A schedule that was noted before keeps its time,
-- unless its version has changed since.
-- Locks: the rows in over_schedules.
-- Returns: nothing.
-- Called by: carillon.purge_schedules, for schedules that have fired max_fires times; noteSome in
-- lib/retention/purge.ts, for schedules whose cadence has no next occurrence.
create or replace function carillon.note_over(p_ids bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.over_schedules as e (schedule_id, version, since)
    select s.id, s.version, carillon.clock() from carillon.schedules s where s.id = any(p_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity'
    on conflict (schedule_id) do update set version = excluded.version, since = excluded.since where e.version <> excluded.version
  $$;
