-- Claims one parcel for a worker: gives it a new fence and a lease, and returns the jobs that may start now,
-- with the present settings of their schedules. An edit of the shard either committed before the claim got
-- the gate, and the claim sees it, or the edit waits for the claim.
-- Jobs that may not start leave the parcel: they are cancelled, skipped, or moved into parcels of their own.
-- If the claim finds fewer jobs than its parcel lists, and nothing explains it, it sets aside the jobs whose
-- version has no row (set_versionless_aside).
-- A parcel with a target needs a place there if the target has limits or p_window is given. p_window is the
-- share of a target: how many of its parcels may be worked at once. Null, for the fast queue: any number.
-- A parcel that is early or under a lease is answered without the gate. A parcel of pulses that no worker has
-- claimed within two minutes is deleted and noted as passed, `late`: after an outage all of them would come
-- at once, of no use to any target.
-- Locks: the gate of the shard (class 2), shared; the parcel's row; its target if it needs a place there
-- (class 6, or that lock shared and a seat, class 9; a seat of its team, class 12; no lock for most granted turns at a target without
-- limits); parcels at that target with skip locked; the lanes of its jobs (class 4) and the parcels that wait
-- there; its jobs. A parcel that turns out empty gives up its place last: then the target comes after the
-- lanes.
-- Returns: rows `job` (a job that may start; settings that few jobs have in `more`: lane and with it
-- team, checks, forgiven, origin, retry, timeout) and `freed` (a parcel to be sent: waitMs, freedId, freedQueue in
-- `more`), then one row with the answer:
-- - claimed: fence, claimedAt, slots (places) and company (how many parcels may come along) in `more`.
-- - pulses: the second, its targets and teams, and the place of the last beat in `more` (ClaimedPulses in
-- lib/parcel/claim.ts).
-- - early: waitMs in `more`. held: it waits for a hold, or for its turn at the target or in a lane. Both may
-- name another parcel of the target that the worker can claim meanwhile (insteadId).
-- - leased: another worker has it. ended: its lease has run out, and the caller is to end it. gone: there is
-- no such parcel, for example because it is settled. empty: no job may start, and the parcel is deleted.
-- Before the answer also rows `set-aside`: an entry of the quarantine, in `more`.
-- An empty parcel is counted, so that a tick sees that workers are at work (carillon.note_tick).
-- Called by: claimParcel in lib/parcel/claim.ts.
create or replace function carillon.claim_parcel(p_parcel bigint, p_lease_ms int, p_window int default null)
  returns table (outcome text, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_shard smallint;
  v_ready_at timestamptz;
  v_leased_until timestamptz;
  v_slow_target int;
  v_team int;
  v_now timestamptz;
  v_lease_until timestamptz;
  v_parcel carillon.parcels;
  v_count int;
  v_passed int := 0;
  v_slots int;
  v_had_turn boolean;
  v_from timestamptz;
  v_to timestamptz;
  v_limited int[];
  v_entered record;
  v_aside record;
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- An answer without a job: the other columns stay null.
  outcome := 'gone';
  select p.shard, case when p.lease_until is null then p.ready_at end, case p.queue when 'slow' then p.target_id end, p.team_id, p.lease_until
  into v_shard, v_ready_at, v_slow_target, v_team, v_leased_until
  from carillon.parcels p where p.id = p_parcel;
  if not found then
    return next;
    return;
  end if;
  -- Most messages come a little early. This answer needs no gate, behind which an edit may be at work.
  v_now := carillon.clock();
  -- Nor does the answer that another worker has the parcel.
  if v_leased_until >= v_now then
    outcome := 'leased';
    return next;
    return;
  end if;
  if v_ready_at > v_now and v_ready_at < 'infinity' then
    outcome := 'early';
    more := jsonb_build_object('waitMs', ceil(least(extract(epoch from v_ready_at - v_now), 86400) * 1000));
    if v_slow_target is not null then
      -- A worker that waits for the time can work another parcel: name one of this target that is ready.
      more := more || jsonb_build_object('insteadId', (select r::text from carillon.ready_parcels(v_slow_target, v_now, 1) r));
    end if;
    return next;
    return;
  end if;
  -- The gate, shared (class 2): an edit of this shard either committed before this line, and the statements
  -- below see it, or it waits.
  perform pg_advisory_xact_lock_shared(2, v_shard);
  v_now := carillon.clock();
  if v_slow_target is not null and v_ready_at <= v_now and carillon.wait_where_full(p_parcel, v_slow_target, v_team, p_window, v_now) then
    outcome := 'held';
    more := jsonb_build_object('insteadId', carillon.granted_parcel(v_slow_target, 'slow', v_now)::text);
    return next;
    return;
  end if;
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  update carillon.parcels p set fence = carillon.next_fence(p.fence), claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
  where p.id = p_parcel and p.ready_at <= v_now and p.lease_until is null
  returning p.* into v_parcel;
  if not found then
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    if not found then outcome := 'gone';
    elsif v_parcel.lease_until >= v_now then outcome := 'leased';
    elsif v_parcel.lease_until is not null then outcome := 'ended';
    elsif v_parcel.ready_at = 'infinity' then outcome := 'held';
    else
      outcome := 'early';
      more := jsonb_build_object('waitMs', ceil(least(extract(epoch from v_parcel.ready_at - v_now), 86400) * 1000));
    end if;
    return next;
    return;
  end if;
  if v_parcel.pulse_at is not null then
    if v_parcel.pulse_tries is null and v_parcel.pulse_every is null and v_parcel.pulse_team_from is null
      and v_parcel.pulse_at < v_now - interval '2 minutes' then
      delete from carillon.parcels p where p.id = p_parcel;
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, reason) values (v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, 'late');
      outcome := 'empty';
    else
      outcome := 'pulses';
      more := jsonb_build_object('fence', v_parcel.fence, 'claimedAt', v_now, 'shard', v_parcel.shard, 'second', extract(epoch from v_parcel.pulse_at)::bigint,
        'targets', v_parcel.pulse_targets, 'teamFrom', v_parcel.pulse_team_from, 'teamTo', v_parcel.pulse_team_to, 'every', v_parcel.pulse_every, 'schedule', v_parcel.pulse_schedule::text,
        'lastTry', coalesce(v_parcel.pulse_tries, 0) + 1 >= carillon.pulse_tries_max());
    end if;
    return next;
    return;
  end if;
  v_limited := array(select t.id from carillon.targets t where t.concurrency is not null or t.rate_count is not null);
  if v_parcel.target_id is null and v_parcel.queue = 'slow' then
    -- The parcel was made without a look at targets. It goes to the target of its first job, and jobs of
    -- other targets leave it below.
    update carillon.parcels p set target_id = f.target_id
    from (select j.target_id from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      -- The conditions of carillon.startable, with each job read by its key: for one wanted row the planner
      -- may walk through all schedules, or all versions of one.
      cross join lateral (
        select s.target_id from carillon.jobs j cross join lateral (select s.* from carillon.schedules s where s.id = j.schedule_id offset 0) s
        where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
          and j.parcel_id = p_parcel and j.state = 'waiting' and coalesce(s.deleted_at, 'infinity') = 'infinity'
          and (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version)
          -- A job without its version is set aside below, and asks for no place at its target before.
          and exists (select from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version)
        offset 0) j
      limit 1) f
    where p.id = p_parcel and f.target_id is not null returning p.* into v_entered;
    if found then v_parcel := v_entered; end if;
  end if;
  if v_parcel.target_id is not null then
    v_had_turn := v_parcel.turn = 'granted';
    for v_entered in select e.* from carillon.enter_target(v_parcel, p_window, v_now) e loop
      outcome := v_entered.outcome;
      more := case outcome when 'held' then jsonb_build_object('insteadId', v_entered.freed::text)
        else carillon.freed_details(v_entered.wait_ms, v_entered.freed, v_entered.freed_queue) end;
      v_slots := v_entered.slots;
      if outcome <> 'enter' then return next; end if;
    end loop;
    if outcome <> 'enter' then return; end if;
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    v_now := v_parcel.claimed_at;
  end if;
  select min(o), max(o) into v_from, v_to from unnest(v_parcel.occurrences) o;
  perform carillon.join_lists(true);
  return query
    select 'job', j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version, j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(array[p_parcel], v_parcel.occurrences, v_parcel.schedule_ids, v_from, v_to, v_parcel.queue, v_parcel.target_id, v_limited, v_now) j
    order by j.occurrence, j.schedule_id, j.kind, j.n;
  get diagnostics v_count = row_count;
  perform carillon.join_lists(false);
  if v_count < cardinality(v_parcel.occurrences) then
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, f.id, f.queue)
      from carillon.cancel_superseded(v_parcel, v_now) f;
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, a.id, a.queue)
      from carillon.set_aside(v_parcel, v_now, v_limited) a;
    select array_agg(j.occurrence), array_agg(j.schedule_id), array_agg(j.kind), array_agg(j.n)
    into v_occurrences, v_schedule_ids, v_kinds, v_ns
    from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.startable j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.parcel_id = p_parcel
      offset 0) j
    where j.lane is not null or (j.kind = 'cadence' and (j.overlap is not null
      or (j.attempt = 0 and j.started_at is null and j.due_at + j.deadline_ms * interval '1 millisecond' < v_now)));
    if v_count + coalesce(cardinality(v_occurrences), 0) < cardinality(v_parcel.occurrences) then
      for v_aside in select a.* from carillon.set_versionless_aside(v_parcel, v_now) a loop
        return query
          select 'set-aside', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
            null::text, null::text, null::jsonb, null::jsonb, jsonb_build_object('item', v_aside.item, 'scheduleId', v_aside.schedule_id::text,
              'reason', v_aside.reason, 'tries', v_aside.tries, 'nextAt', v_aside.next_at);
      end loop;
    end if;
  end if;
  if v_occurrences is not null then
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, f.id, f.queue)
      from carillon.pass_lanes(v_parcel, v_occurrences, v_schedule_ids, v_kinds, v_ns) f;
    -- The jobs that are in the parcel now have passed their lanes, at the parcel's new `claimed_at`. The lane
    -- of a grouped handler may have brought further jobs.
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    v_now := v_parcel.claimed_at;
    return query
      select 'job', j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version, j.version, j.key, j.group_key, j.target, j.payload,
        case when j.lane is not null or j.checks is not null or j.forgiven is not null or j.origin is not null or j.body ? 'retry' or j.body ? 'timeout' then
          jsonb_build_object('lane', j.lane, 'team', j.team_id, 'checks', j.checks, 'forgiven', j.forgiven, 'origin', j.origin, 'retry', j.body -> 'retry', 'timeout', j.body -> 'timeout') end
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      cross join lateral (
        select j.* from carillon.startable j
        where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
          and j.parcel_id = p_parcel
        offset 0) j
      where j.lane is not null or (j.kind = 'cadence' and j.overlap is not null);
    get diagnostics v_passed = row_count;
  end if;
  if v_count + v_passed = 0 then
    perform case v_parcel.queue when 'fast' then nextval('carillon.fast_empty_claims') else nextval('carillon.slow_empty_claims') end;
    delete from carillon.parcels p where p.id = p_parcel;
    -- Otherwise the place was taken in this transaction, at a target without limits. No parcel has waited for
    -- it, and the target's lock may be held shared here: leave_target may need it exclusively.
    if v_had_turn or v_parcel.target_id = any(v_limited) then
      return query
        select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details((extract(epoch from f.ready_at - v_now) * 1000)::int, f.id, f.queue)
        from carillon.leave_target(v_parcel, v_now) f;
    end if;
    outcome := 'empty';
    more := null;
    return next;
    return;
  end if;
  outcome := 'claimed';
  more := jsonb_build_object('fence', v_parcel.fence, 'claimedAt', v_now, 'slots', v_slots,
    'company', case when v_slots is not null then carillon.company_of(v_parcel) end);
  return next;
end $$;
