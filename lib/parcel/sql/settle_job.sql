-- Settles one job of a parcel as succeeded, inside the transaction of its handler: what the handler wrote and
-- the success become true together. p_outcome is `succeeded`, or `again` with a recheck at p_at. The parcel
-- stays, for its other jobs and for the settle that ends it. If the answer is false nothing is written, and
-- the transaction must not commit. Its handler began p_started_ms milliseconds before this call.
-- Locks: if the outcome is `again` the gate of the schedule (class 2), shared; the parcel's row, shared; the
-- job.
-- Returns: one row with settled = false if the fence is not the caller's, or the job has left the parcel or
-- is asked to be cancelled; otherwise one row with settled = true, and one more for the parcel of a recheck.
-- Called by: settleInside in lib/parcel/settle-inside.ts, as the last statement of the handler's transaction.
create or replace function carillon.settle_job(p_parcel bigint, p_fence int, p_occurrence timestamptz, p_schedule_id bigint, p_kind carillon.job_kind,
    p_n int, p_version int, p_outcome text, p_at timestamptz, p_notify text[], p_started_ms int default null)
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
  if p_outcome not in ('succeeded', 'again') then raise exception 'A job is settled alone only when it succeeded, not: %', p_outcome; end if;
  if p_outcome = 'again' then perform carillon.share_gates(array[p_schedule_id]); end if;
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.fence = p_fence for share;
  v_now := carillon.clock();
  settled := v_parcel.id is not null and exists (
    select from carillon.jobs j where j.occurrence = p_occurrence and j.schedule_id = p_schedule_id and j.kind = p_kind and j.n = p_n
      and j.state = 'waiting' and j.parcel_id = p_parcel and j.cancel_asked is not true);
  return query select settled, null::bigint, null::carillon.queue_class, null::timestamptz;
  if not settled then return; end if;
  return query select true, w.id, w.queue, w.ready_at
    from carillon.write_outcomes(v_parcel, v_now, array[p_occurrence], array[p_schedule_id], array[p_kind], array[p_n], array[p_outcome],
      array[p_at], array[null::bigint], array[null::text], array[null::text], array[null::text], array[null::text], array[null::text],
      array[p_version], p_notify, false, array[p_started_ms], array[0], v_called) w;
end $$;
