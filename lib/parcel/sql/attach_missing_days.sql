-- Attaches the partitions of those days (UTC) of these instants that have none yet, for a transaction that is
-- about to insert jobs there. The tick keeps partitions from just before the oldest watermark to a few days
-- ahead; catch-up, backfills and rechecks reach further.
-- A settle calls it before its own transaction, which must not hold these locks.
-- Locks: none for a day that has a partition of jobs. Otherwise the lock of days (class 3), then the
-- partitioned tables, until the transaction ends. It waits 2 s at most for each and then fails.
-- Returns: how many partitions it attached, up to five for a day.
-- Called by: attachDaysFor in lib/parcel/settle.ts, attachTheirDays in lib/plan/backlog.ts, fireOnce in
-- lib/job-control/fire-now.ts.
create or replace function carillon.attach_missing_days(p_instants timestamptz[]) returns int
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '2s'
  as $$
    select coalesce(sum(carillon.attach_days(day, day)), 0)::int
    from (select distinct (instant at time zone 'UTC')::date as day from unnest(p_instants) instant) days
    where to_regclass('carillon.jobs_' || to_char(day, 'YYYYMMDD')) is null
  $$;
