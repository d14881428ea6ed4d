-- Settles some jobs of a claimed parcel, if the fence is still the caller's, and leaves the parcel to its
-- worker for the others. It serves the parts of a parcel whose settle has failed as a whole, so that a job
-- that cannot be written keeps no other job from being settled. The lease goes on for at least half a minute
-- from now, since the parts before may have waited for locks. The lanes and the place at the target are left
-- later (lib/parcel/leave-parcel.ts).
-- Locks: the gates of the schedules (class 2), shared, if a job is to be checked again; the parcel's row; its
-- jobs.
-- Returns: one row with settled = false if the fence is not the caller's, and nothing is written; otherwise
-- one row with settled = true, and one more for each parcel to be sent.
-- Called by: settleSome in lib/parcel/settle-apart.ts.
create or replace function carillon.settle_some(p_parcel bigint, p_fence int, p_notify text[], p_occurrences timestamptz[], p_schedule_ids bigint[],
  p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[], p_retry_ms bigint[], p_errors text[], p_classes text[],
  p_stacks text[], p_reasons text[], p_holds text[], p_versions int[], p_started_ms int[] default null, p_ended_ms int[] default null)
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_called timestamptz := carillon.clock();
  v_now timestamptz;
  v_parcel carillon.parcels;
begin
  if 'again' = any(p_outcomes) then perform carillon.share_gates(p_schedule_ids); end if;
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.lease_until is not null for update;
  v_now := carillon.clock();
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;
  update carillon.parcels p set lease_until = greatest(p.lease_until, v_now + interval '30 seconds'),
    offer_at = greatest(p.lease_until, v_now + interval '30 seconds')
  where p.id = p_parcel;
  return query select true, w.id, w.queue, w.ready_at
    from carillon.write_outcomes(v_parcel, v_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors,
      p_classes, p_stacks, p_reasons, p_holds, p_versions, p_notify, false, p_started_ms, p_ended_ms, v_called) w;
end $$;
