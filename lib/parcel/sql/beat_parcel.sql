-- Extends the lease of a parcel for the worker with its fence, and names the jobs of the parcel that are to
-- be stopped. A lease that has ended is extended too, unless the parcel was taken from the worker: then the
-- fence is another one.
-- Locks: the parcel's row, only when the lease is extended.
-- Returns: one row with held = false if the fence is not the caller's; otherwise one row with held = true,
-- and one more for each job that was asked to be cancelled.
-- Called by: beatParcel in lib/parcel/beat.ts, each second while a slow parcel is worked.
create or replace function carillon.beat_parcel(p_parcel bigint, p_fence int, p_lease_ms int)
  returns table (held boolean, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_lease_until timestamptz := carillon.clock() + p_lease_ms * interval '1 millisecond';
  v_parcel carillon.parcels;
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.fence = p_fence;
  return query select v_parcel.id is not null, null::timestamptz, null::bigint, null::carillon.job_kind, null::int;
  if v_parcel.id is null then return; end if;
  -- No write at each beat: a lease of which more than half is left is long enough.
  update carillon.parcels p set lease_until = v_lease_until, offer_at = v_lease_until
  where p.id = p_parcel and p.fence = p_fence and p.lease_until < v_lease_until - p_lease_ms * interval '0.5 milliseconds';
  return query
    select true, j.occurrence, j.schedule_id, j.kind, j.n
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel and j.cancel_asked;
end $$;
