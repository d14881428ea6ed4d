-- Ends the work on a parcel whose settle or end_lease has failed as a whole and was done in parts. A parcel
-- without jobs is deleted. Any other parcel gives up its place at the target. Its lease ends now, so that the
-- next sweep tries again to take its jobs, and it lists only the jobs that are left, so that the sweep can
-- name their schedule. p_fence is null for a parcel whose lease has ended.
-- The caller then leaves the lanes, in parts: an entry that cannot be written would keep the lanes of the
-- other jobs. An entry that stays keeps no other job back, since its own job is over.
-- Locks: the parcel's row.
-- Returns: one row with the parcel's target (null: none) and whether it has lanes to leave; no row if the
-- fence is not the caller's or, with p_fence null, the lease has not ended.
-- Called by: leaveParcel in lib/parcel/leave-parcel.ts, after settleApart and endApart.
create or replace function carillon.leave_parcel(p_parcel bigint, p_fence int) returns table (left_target int, left_lanes boolean)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_sort = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_stay record;
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.pulse_at is null and case when p_fence is null then p.lease_until < v_now else p.fence = p_fence and p.lease_until is not null end
  for update;
  if v_parcel.id is null then return; end if;
  perform carillon.note_times(v_parcel.id, v_parcel.claimed_at, v_parcel.made_at, v_parcel.sent_at, v_parcel.waited_at, v_now,
    v_parcel.target_id, v_parcel.queue, v_parcel.shard, v_parcel.occurrences);
  select array_agg(j.occurrence) as occurrences, array_agg(j.schedule_id) as schedule_ids, array_agg(j.kind) as kinds, array_agg(j.n) as ns into v_stay
  from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
    and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel;
  if v_stay.occurrences is null then
    delete from carillon.parcels p where p.id = p_parcel;
  else
    update carillon.parcels p set slots = null, turn = null, laned = null, company = null, lease_until = least(p.lease_until, v_now),
      offer_at = least(p.offer_at, v_now), occurrences = v_stay.occurrences, schedule_ids = v_stay.schedule_ids, kinds = v_stay.kinds, ns = v_stay.ns
    where p.id = p_parcel;
  end if;
  return query select v_parcel.target_id, coalesce(v_parcel.laned, false);
end $$;
