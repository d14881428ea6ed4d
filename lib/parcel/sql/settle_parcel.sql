-- Settles the jobs of a parcel: writes each outcome once and deletes the parcel, if the fence is still the
-- caller's. A lease that has ended still settles if the parcel was not taken from the worker. With no
-- outcomes given, all jobs succeeded in the versions in which they were planned; otherwise the lists have the
-- outcomes as carillon.write_outcomes takes them, one for every job of the parcel: the parcel is deleted in
-- any case. p_started_ms and p_ended_ms have the own times of the jobs, in milliseconds before this call; with
-- no outcomes given, one entry for all of them. p_notify names the events for the bus.
-- Jobs that are to be retried go into new parcels in the same statement. A grouped handler may have taken jobs
-- of other shards along, so each written row gets the shard of its own job. The time of a slow parcel is noted
-- for its target, if it has one.
-- Locks: the gates of the schedules (class 2), shared, if a job is to be checked again; the parcel's row; its
-- jobs; its target (class 6); its lanes (class 4) and the parcels that wait there.
-- Returns: one row with settled = false if the fence is not the caller's; otherwise one row with settled =
-- true, and one more for each parcel to be sent: retries, rechecks, and parcels that are next at the target
-- or in a lane.
-- Called by: settleParcel and settleEach in lib/parcel/settle.ts.
create or replace function carillon.settle_parcel(p_parcel bigint, p_fence int, p_notify text[] default null, p_occurrences timestamptz[] default null,
    p_schedule_ids bigint[] default null, p_kinds carillon.job_kind[] default null, p_ns int[] default null, p_outcomes text[] default null,
    p_at timestamptz[] default null, p_retry_ms bigint[] default null, p_errors text[] default null, p_classes text[] default null,
    p_stacks text[] default null, p_reasons text[] default null, p_holds text[] default null, p_versions int[] default null,
    p_started_ms int[] default null, p_ended_ms int[] default null)
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
  v_times record;
begin
  if 'again' = any(p_outcomes) then perform carillon.share_gates(p_schedule_ids); end if;
  v_now := carillon.clock();
  delete from carillon.parcels p where p.id = p_parcel and p.fence = p_fence returning p.* into v_parcel;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if p_outcomes is null then
    select * into v_times from carillon.own_times(v_parcel.claimed_at, v_called, v_now, p_started_ms[1], p_ended_ms[1]);
    perform carillon.write_successes(array[p_parcel], v_parcel.claimed_at, v_parcel.owed, v_parcel.occurrences, v_parcel.schedule_ids, v_now, p_notify,
      v_times.target_ms, v_times.ended_at);
  else
    return query select true, w.id, w.queue, w.ready_at
      from carillon.write_outcomes(v_parcel, v_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors,
        p_classes, p_stacks, p_reasons, p_holds, p_versions, p_notify, false, p_started_ms, p_ended_ms, v_called) w;
  end if;
  perform carillon.note_times(v_parcel.id, v_parcel.claimed_at, v_parcel.made_at, v_parcel.sent_at, v_parcel.waited_at, v_now,
    v_parcel.target_id, v_parcel.queue, v_parcel.shard, v_parcel.occurrences);

  if v_parcel.target_id is not null then
    if v_parcel.queue = 'slow' then
      insert into carillon.target_work (target_id, jobs, ms)
      select v_parcel.target_id, w.jobs,
        greatest(0, extract(epoch from v_now - v_parcel.claimed_at)) * 1000 * carillon.places_of(v_parcel, w.jobs::int)
      from (select cardinality(v_parcel.occurrences) - cardinality(array_positions(coalesce(p_outcomes, '{}'), 'back')) as jobs) w
      where w.jobs > 0;
    end if;
    return query select true, f.id, f.queue, f.ready_at from carillon.leave_target(v_parcel, v_now) f;
  end if;
  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;
