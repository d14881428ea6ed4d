-- Shuts edits of these schedules out until the transaction ends, so that none comes between reading a
-- schedule and writing what follows from it.
-- Locks: the gates of their shards (class 2), shared and ascending.
-- Returns: nothing.
-- Called by: carillon.settle_parcel, carillon.settle_job and carillon.settle_some, before rechecks;
-- carillon.cancel_jobs and carillon.retry_jobs.
create or replace function carillon.share_gates(p_schedule_ids bigint[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_shard smallint;
begin
  for v_shard in select distinct (select s.shard from carillon.schedules s where s.id = k.id) from unnest(p_schedule_ids) k (id) order by 1 loop
    perform pg_advisory_xact_lock_shared(2, v_shard);
  end loop;
end $$;
