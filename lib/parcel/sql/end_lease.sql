-- Takes a parcel whose lease has ended from its worker, and gives up its places at the target and in lanes.
-- If a single job is left in the parcel, it is charged a crashed attempt. Its parcel is ready again under a new
-- fence, or the job is dead after its last attempt, or cancelled if that was requested. If there are several
-- jobs, or the parcel was worked in the company of others, it is not known which job stopped the worker: each
-- job goes into a parcel of its own, which takes no other jobs along from then on, and none is charged.
-- p_attempts is for schedules that do not name their number of attempts; p_notify names the events for the bus.
-- A parcel of pulses is ready again as it was, all of it, since how far its worker came is not known. After
-- the last try its pulses are noted as passed, `crashed`.
-- Locks: the parcel's row; its jobs; its target (class 6); its lanes (class 4) and the parcels that wait
-- there.
-- Returns: one row with ended = false if the lease goes on or the parcel is gone; otherwise one row with
-- ended = true, and one more for each parcel to be sent.
-- Called by: endWhole in lib/parcel/end-lease.ts, for the sweep and for a worker whose claim was answered
-- `ended`.
create or replace function carillon.end_lease(p_parcel bigint, p_attempts int, p_notify text[])
  returns table (ended boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_alone record;
  v_count int := 0;
  v_shared boolean;
  v_error text := 'The worker stopped without an answer: its lease ended.';
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.lease_until < v_now for update;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if v_parcel.pulse_at is not null then
    if coalesce(v_parcel.pulse_tries, 0) + 1 < carillon.pulse_tries_max() then
      update carillon.parcels p set fence = carillon.next_fence(p.fence), claimed_at = null, lease_until = null, ready_at = v_now, offers = 1,
        offer_at = v_now + interval '1 minute', pulse_tries = coalesce(p.pulse_tries, 0) + 1
      where p.id = p_parcel;
      return query select true, p_parcel, v_parcel.queue, v_now;
    else
      delete from carillon.parcels p where p.id = p_parcel;
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, team_id, reason)
      select v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, t.id, case when v_parcel.pulse_team_from = v_parcel.pulse_team_to then v_parcel.pulse_team_from end, 'crashed' from unnest(coalesce(v_parcel.pulse_targets, array[null::int])) t (id);
    end if;
    return;
  end if;

  perform carillon.note_times(v_parcel.id, v_parcel.claimed_at, v_parcel.made_at, v_parcel.sent_at, v_parcel.waited_at, v_now,
    v_parcel.target_id, v_parcel.queue, v_parcel.shard, v_parcel.occurrences);
  for v_alone in
    select j.occurrence, j.schedule_id, j.kind, j.n, s.shard, carillon.version_tried(j, s) as version, j.attempt + 1 as attempt, j.cancel_asked,
      case when j.started_at is null and v_parcel.owed is not true then v_parcel.claimed_at - j.due_at end as late,
      j.attempt + 1 - coalesce(j.forgiven, 0) >= coalesce((v.body -> 'retry' ->> 'attempts')::int, p_attempts) as last_try
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
    join carillon.schedules s on s.id = j.schedule_id
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    limit 2
  loop
    v_count := v_count + 1;
  end loop;

  v_shared := v_count > 1 or coalesce(v_parcel.company, 0) > 1;
  if v_count = 1 and not v_shared and not v_alone.last_try and v_alone.cancel_asked is not true then
    update carillon.parcels p set fence = carillon.next_fence(p.fence), claimed_at = null, lease_until = null, slots = null, turn = null, laned = null, alone = true,
      company = null, ready_at = v_now, offers = 1, offer_at = v_now + interval '1 minute', made_at = v_now, sent_at = null, waited_at = null, shard = v_alone.shard,
      occurrences = array[v_alone.occurrence], schedule_ids = array[v_alone.schedule_id], kinds = array[v_alone.kind], ns = array[v_alone.n]
    where p.id = p_parcel;
    update carillon.jobs j set attempt = v_alone.attempt, started_at = coalesce(j.started_at, v_parcel.claimed_at), error = v_error,
      ready_at = v_now, version = v_alone.version
    where j.occurrence = v_alone.occurrence and j.schedule_id = v_alone.schedule_id and j.kind = v_alone.kind and j.n = v_alone.n;
    insert into carillon.tallies (at, failed, late_buckets, late_jobs)
    values (v_now, 1, case when v_alone.late is not null then array[carillon.lateness_bucket(v_alone.late)] end,
      case when v_alone.late is not null then array[1] end);
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, error_group, shard,
      parcel_id)
    values (v_alone.occurrence, v_alone.schedule_id, v_alone.kind, v_alone.n, v_alone.attempt, v_parcel.claimed_at, v_parcel.lease_until,
      'crashed', v_error, 'LeaseEnded',
      (carillon.note_errors(array[v_alone.occurrence], array[v_alone.schedule_id], array['crashed'], array[v_error], array['LeaseEnded']))[1], v_alone.shard,
      p_parcel);
    if 'failed' = any(p_notify) then
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
      values ('failed', v_alone.occurrence, v_alone.schedule_id, v_alone.kind, v_alone.n, v_alone.attempt, v_now, v_now + interval '30 seconds');
    end if;
    return query select true, p_parcel, v_parcel.queue, v_now;
  else
    delete from carillon.parcels p where p.id = p_parcel;
    return query
      with own as (
        select j.occurrence, j.schedule_id, j.kind, j.n, carillon.version_tried(j, s) as version
        from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
        join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
          and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
        join carillon.schedules s on s.id = j.schedule_id
      ), listed as (
        select array_agg(o.occurrence) as occurrences, array_agg(o.schedule_id) as schedule_ids, array_agg(o.kind) as kinds, array_agg(o.n) as ns,
          array_agg(case when v_shared then 'back' when v_alone.last_try and v_alone.cancel_asked is not true then 'dead' else 'crashed' end) as outcomes,
          array_agg(null::timestamptz) as ats, array_agg(0::bigint) as retries, array_agg(case when not v_shared then v_error end) as errors,
          array_agg(case when not v_shared then 'LeaseEnded' end) as classes, array_agg(null::text) as nothing, array_agg(o.version) as versions
        from own o
      )
      select true, w.id, w.queue, w.ready_at
      from listed l cross join lateral carillon.write_outcomes(v_parcel, v_now, l.occurrences, l.schedule_ids, l.kinds, l.ns, l.outcomes, l.ats,
        l.retries, l.errors, l.classes, l.nothing, l.nothing, l.nothing, l.versions, p_notify, true) w
      where l.occurrences is not null;
  end if;
  if v_parcel.target_id is not null then
    return query select true, f.id, f.queue, f.ready_at from carillon.leave_target(v_parcel, v_now) f;
  end if;
  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;
