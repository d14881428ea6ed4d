-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

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

-- Cancels the rechecks of a claimed parcel whose schedule has newer settings than the recheck, with the
-- reason `superseded`, and takes them out of their lanes. Nearly always the edit has cancelled them itself.
-- Left to the claim is a recheck that failed and was put up for retry while the edit was made.
-- Locks: the rechecks, then their lanes (class 4) and the parcels that wait there. The claim holds the gate
-- shared and the parcel's row.
-- Returns: the parcels that are next in these lanes, to be sent.
-- Called by: carillon.claim_parcel, when fewer jobs may simply start than the parcel lists.
create or replace function carillon.cancel_superseded(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_ns int[];
begin
  if p_parcel.kinds is null or not 'again' = any(p_parcel.kinds) then return; end if;
  with cancelled as (
    update carillon.jobs j set state = 'cancelled', reason = 'superseded', parcel_id = null, ready_at = null, finished_at = p_now
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n), carillon.schedules s
    where k.kind = 'again' and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
      and s.id = k.schedule_id and s.deleted_at is null and coalesce(s.fresh_version, 1) > j.version
    returning j.occurrence, j.schedule_id, j.n
  )
  select array_agg(c.occurrence), array_agg(c.schedule_id), array_agg(c.n) into v_occurrences, v_schedule_ids, v_ns from cancelled c;
  if v_occurrences is null then return; end if;
  return query
    select f.id, f.queue
    from carillon.leave_lanes(v_occurrences, v_schedule_ids, array_fill('again'::carillon.job_kind, array[cardinality(v_ns)]), v_ns, p_now) f;
end $$;

-- Claims further parcels at the target of a claimed parcel, for the same worker: those that wait for a turn,
-- in their order, then ready ones of the same priority. It takes p_most parcels at most, each only if all of
-- its jobs may start as they are. Together with the first parcel they hold no more jobs than take half a
-- second.
-- They take no place at the target. The worker runs their jobs in the places of the first parcel and settles
-- that one last. At a target with limits there is no company: a limit counts by the parcel.
-- The claim waits for no edit and for no claim that gives turns: it passes over what is locked. Its commit
-- does not wait for the disk, as in carillon.claim_parcels.
-- Locks: the first parcel's row, shared; the gates of the others' shards (class 2), shared, each by a try;
-- the others' rows with skip locked; at last the first parcel's row with skip locked. It does not lock the
-- target.
-- Returns: rows as of carillon.claim_parcels; none if the fence is not the caller's, the lease has ended, the
-- target has limits or no parcel fits. A parcel without a row of its own is not claimed: ignore its job rows.
-- Called by: claimCompany in lib/parcel/claim-together.ts.
create or replace function carillon.claim_company(p_parcel bigint, p_fence int, p_most int, p_lease_ms int)
  returns table (parcel bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_head carillon.parcels;
  v_target carillon.targets;
  v_room int;
  v_next bigint[];
  v_gates smallint[];
  v_ids bigint[];
  v_fences int[];
  v_sizes int[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_from timestamptz;
  v_to timestamptz;
  v_count int;
begin
  -- Before the others' rows: a transaction that ends the first parcel's lease locks this row, and then wants
  -- parcels that wait. Shared, as handlers' transactions that settle a job of the parcel hold it.
  select p.* into v_head from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.lease_until >= v_now for share;
  select t.* into v_target from carillon.targets t where t.id = v_head.target_id and t.concurrency is null and t.rate_count is null;
  v_room := carillon.jobs_a_turn(v_target.cost_ms) - cardinality(v_head.occurrences);
  if v_room is null or v_room <= 0 then return; end if;
  -- More than it takes: other claims look for parcels here at the same time.
  v_next := array(select d.id from carillon.due_turns(v_target.id, v_now, 4 * p_most, true) d);
  if cardinality(v_next) < 4 * p_most then
    v_next := v_next || array(select r from carillon.ready_parcels(v_target.id, v_now, 4 * p_most - cardinality(v_next)) r);
  end if;
  v_gates := array(
    select g.shard from (select distinct p.shard from carillon.parcels p where p.id = any(v_next) order by 1) g
    where pg_try_advisory_xact_lock_shared(2, g.shard));
  v_now := carillon.clock();
  with free as materialized (
    select p.id, carillon.next_fence(p.fence) as fence, cardinality(p.occurrences) as size, p.turn is null as ready,
      array_position(v_next, p.id) as place, p.occurrences, p.schedule_ids
    from carillon.parcels p
    where p.id = any(v_next) and p.shard = any(v_gates) and p.queue = 'slow' and cardinality(p.occurrences) <= v_room
      and (coalesce(p.turn, 'granted') = 'waits'
        or (p.turn is null and p.lease_until is null and p.ready_at <= v_now and coalesce(p.priority, 0) = coalesce(v_head.priority, 0)))
      and coalesce(p.lane, '') = '' and coalesce(p.held_schedule, 0) = 0 and p.owed is not true and p.alone is not true
    order by p.turn is null, array_position(v_next, p.id) limit p_most for update skip locked
  ), fitting as materialized (
    select f.* from (select f.*, sum(f.size) over (order by f.ready, f.place) as jobs from free f) f where f.jobs <= v_room
  )
  select p.ids, p.fences, p.sizes, l.first, l.last, l.occurrences, l.schedule_ids
  into v_ids, v_fences, v_sizes, v_from, v_to, v_occurrences, v_schedule_ids
  from (select array_agg(f.id) as ids, array_agg(f.fence) as fences, array_agg(f.size) as sizes from fitting f) p
  cross join (
    select min(k.occurrence) as first, max(k.occurrence) as last, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from fitting f cross join lateral unnest(f.occurrences, f.schedule_ids) k (occurrence, schedule_id)
  ) l;
  if v_ids is null then return; end if;

  perform set_config('synchronous_commit', 'off', true);
  perform carillon.join_lists(true);
  return query
    select j.parcel_id, j.occurrence, j.schedule_id, nullif(j.kind, 'cadence'), nullif(j.n, 0), nullif(j.due_at, j.occurrence), nullif(j.attempt, 0::smallint),
      nullif(j.planned_version, j.version), j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'slow', v_target.id, '{}', v_now) j;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_occurrences) then
    -- A parcel with a job that may not start as it is stays as it was, for a claim of its own.
    select array_agg(c.id), array_agg(c.fence) into v_ids, v_fences
    from unnest(v_ids, v_fences, v_sizes) c (id, fence, size)
    join (
      select j.parcel_id, count(*) as jobs
      from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'slow', v_target.id, '{}', v_now) j group by 1
    ) j on j.parcel_id = c.id and j.jobs = c.size;
  end if;
  perform carillon.join_lists(false);
  if v_ids is null then return; end if;
  update carillon.parcels p set turn = null, ready_at = v_now, fence = c.fence, claimed_at = v_now,
    lease_until = v_now + p_lease_ms * interval '1 millisecond', offer_at = v_now + p_lease_ms * interval '1 millisecond', company = 1 + cardinality(v_ids)
  from unnest(v_ids, v_fences) c (id, fence) where p.id = c.id;
  -- A row that a handler's transaction has locked is not waited for. Without the number the cost of its jobs
  -- is counted a little too high.
  update carillon.parcels p set company = 1 + cardinality(v_ids)
  where p.id = (select h.id from carillon.parcels h where h.id = p_parcel for update skip locked);
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence);
end $$;

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

-- Claims those of these fast parcels that are ready and whose jobs may all start as they are, with one
-- statement for a batch of messages. Parcels with a target or of pulses, and those with a job that needs a
-- closer look (a lane, a deadline, a hold, a target with limits), are left to carillon.claim_parcel.
-- The commit does not wait for the disk. A claim lost with the machine leaves a parcel that is sent again,
-- and its jobs run at least once. Settles wait for the disk.
-- Locks: the gates of the ready parcels (class 2), shared and ascending; then the parcels by id, with skip
-- locked.
-- Returns: first the jobs, in any order: kind, n, due_at, attempt and planned_version are null where they are
-- `cadence`, 0, the occurrence, 0 and the version. Then one row for each claimed parcel, with fence and
-- claimedAt in `more` and null in occurrence to payload. A parcel without a row of its own is not claimed:
-- ignore its job rows.
-- Called by: claimTogether in lib/parcel/claim-together.ts.
create or replace function carillon.claim_parcels(p_parcels bigint[], p_lease_ms int)
  returns table (parcel bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_gates smallint[];
  v_lease_until timestamptz;
  v_ids bigint[];
  v_fences int[];
  v_sizes int[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_from timestamptz;
  v_to timestamptz;
  v_limited int[];
  v_count int;
  v_short bigint[] := '{}';
begin
  -- The gates of the ready parcels (class 2), shared and ascending, as an edit of several shards takes them.
  v_gates := array(select distinct p.shard from carillon.parcels p where p.id = any(p_parcels) and p.ready_at <= v_now order by 1);
  perform pg_advisory_xact_lock_shared(2, g.shard) from unnest(v_gates) g (shard);
  v_now := carillon.clock();
  v_lease_until := v_now + p_lease_ms * interval '1 millisecond';
  with locked as materialized (
    select p.id from carillon.parcels p
    -- A parcel that has become ready or free since counts only behind a gate that is held.
    where p.id = any(p_parcels) and p.shard = any(v_gates) and p.ready_at <= v_now and p.lease_until is null and p.queue = 'fast'
      and p.target_id is null and p.pulse_at is null
    order by p.id for update skip locked
  ), claimed as (
    update carillon.parcels p set fence = carillon.next_fence(p.fence), claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
    from locked l where p.id = l.id
    returning p.id, p.fence, p.occurrences, p.schedule_ids
  )
  select p.ids, p.fences, p.sizes, l.first, l.last, l.occurrences, l.schedule_ids
  into v_ids, v_fences, v_sizes, v_from, v_to, v_occurrences, v_schedule_ids
  from (select array_agg(c.id) as ids, array_agg(c.fence) as fences, array_agg(cardinality(c.occurrences)) as sizes from claimed c) p
  cross join (
    select min(k.occurrence) as first, max(k.occurrence) as last, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from claimed c cross join lateral unnest(c.occurrences, c.schedule_ids) k (occurrence, schedule_id)
  ) l;
  if v_ids is null then return; end if;

  -- No job here is in a lane, so a lost claim only means that its jobs are run again.
  perform set_config('synchronous_commit', 'off', true);
  v_limited := array(select t.id from carillon.targets t where t.concurrency is not null or t.rate_count is not null);
  perform carillon.join_lists(true);
  return query
    select j.parcel_id, j.occurrence, j.schedule_id, nullif(j.kind, 'cadence'), nullif(j.n, 0), nullif(j.due_at, j.occurrence), nullif(j.attempt, 0::smallint),
      nullif(j.planned_version, j.version), j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'fast', null, v_limited, v_now) j;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_occurrences) then
    select coalesce(array_agg(c.id), '{}') into v_short
    from unnest(v_ids, v_sizes) c (id, size)
    left join (
      select j.parcel_id, count(*) as jobs
      from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'fast', null, v_limited, v_now) j group by 1
    ) j on j.parcel_id = c.id
    where coalesce(j.jobs, 0) < c.size;
  end if;
  perform carillon.join_lists(false);
  -- The worker claims each of these alone at once. If the worker dies before, the tick sends them again.
  if v_short <> '{}' then
    update carillon.parcels p set claimed_at = null, lease_until = null, offer_at = v_now + interval '1 minute' where p.id = any(v_short);
  end if;
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence) where c.id <> all (v_short);
end $$;

-- The most parcels that a worker claims along with one.
-- Locks: none.
-- Returns: the number.
-- Called by: carillon.company_of; carillon.grant_turns, which looks at this many more parcels for each one
-- under way, since claims may be taking them along.
create or replace function carillon.company_max() returns int language sql immutable parallel safe as $$ select 9 $$;

-- Says how many parcels a worker may claim along with a claimed one, by carillon.claim_company. Only a slow
-- parcel with a place at a target without limits has company, if its jobs take less than half a second: a
-- limit counts by the parcel. The number is the waiting and ready parcels of the target divided by its share,
-- that is, how many each place would work one after the other.
-- Locks: none.
-- Returns: a number up to carillon.company_max(); 0 for none.
-- Called by: carillon.claim_parcel, for its answer `claimed`.
create or replace function carillon.company_of(p_parcel carillon.parcels) returns int
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_target carillon.targets;
  v_most int;
  v_waiting int;
begin
  if p_parcel.queue <> 'slow' or p_parcel.slots is null or p_parcel.lane is not null or p_parcel.alone is true then return 0; end if;
  select t.* into v_target from carillon.targets t where t.id = p_parcel.target_id;
  if v_target.concurrency is not null or v_target.rate_count is not null
    or coalesce(carillon.jobs_a_turn(v_target.cost_ms), 0) <= cardinality(p_parcel.occurrences)
  then
    return 0;
  end if;
  v_most := carillon.company_max() * coalesce(v_target.share, 1);
  select count(*) into v_waiting from (
    select from carillon.parcels p where p.target_id = p_parcel.target_id and p.turn = 'waits' limit v_most) w;
  if v_waiting < v_most then
    v_waiting := v_waiting + (select count(*) from carillon.ready_parcels(p_parcel.target_id, p_parcel.claimed_at, v_most - v_waiting));
  end if;
  return least(carillon.company_max(), v_waiting / coalesce(v_target.share, 1));
end $$;

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

-- Names the team of a parcel from the teams of its jobs.
-- Locks: none.
-- Returns: the team, if all jobs are of this team; else null.
-- Called by: carillon.write_outcomes and carillon.retry_jobs; packedJobs in lib/plan/backlog.ts.
create or replace function carillon.one_team(p_teams int[]) returns int
  language sql immutable parallel safe
  as $$ select case when count(t) = count(*) and min(t) = max(t) then min(t) end from unnest(p_teams) t $$;
-- Names the message group of a parcel whose jobs are all of one team. SQS shares its receivers out among groups
-- whose messages wait, so a team of weight three has three groups. The name says nothing about the prefix.
-- Locks: none.
-- Returns: the name; null for a parcel of no team.
-- Called by: carillon.message_groups; fire in lib/plan/fire.ts, admitTurns in lib/plan/backlog.ts, fireReleases
-- in lib/plan/release.ts and makeJob in lib/job-control/fire-now.ts, with the parcels that they make.
create or replace function carillon.message_group(p_team int, p_parcel bigint) returns text
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  as $$
begin
  if p_team is null then return null; end if;
  return (select 'team-' || t.id || case when t.weight > 1 then '-' || p_parcel % t.weight else '' end from carillon.teams t where t.id = p_team);
end $$;

-- Names the message groups of those of these parcels that have one, to send them again: a parcel keeps its
-- team, and so do parcels that take over its jobs.
-- Locks: none.
-- Returns: the parcels with a group.
-- Called by: inGroups in lib/parcel/hand-over.ts.
create or replace function carillon.message_groups(p_parcels bigint[]) returns table (id bigint, message_group text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  return query
    select p.id, carillon.message_group(p.team_id, p.id) from carillon.parcels p where p.id = any(p_parcels) and p.team_id is not null;
end $$;

-- Moves the jobs at positions p_from to p_to of the lists of a parcel whose lease has ended into new parcels,
-- each into its own, as carillon.end_lease does with several jobs: none is charged an attempt. It serves the
-- parts of a parcel whose end_lease has failed as a whole. The parcel stays, for the jobs that cannot be
-- written.
-- Locks: the parcel's row, then its jobs. Its target and lanes are left later (carillon.leave_parcel).
-- Returns: one row with ended = false if the lease goes on, or the parcel is gone or one of pulses; otherwise
-- one row with ended = true, and one more for each parcel to be sent.
-- Called by: endSome in lib/parcel/end-lease.ts.
create or replace function carillon.end_lease_of_some(p_parcel bigint, p_from int, p_to int, p_notify text[])
  returns table (ended boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.lease_until < v_now and p.pulse_at is null for update;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;
  return query
    with own as (
      select j.occurrence, j.schedule_id, j.kind, j.n, carillon.version_tried(j, s) as version
      from unnest(v_parcel.occurrences[p_from:p_to], v_parcel.schedule_ids[p_from:p_to], v_parcel.kinds[p_from:p_to], v_parcel.ns[p_from:p_to])
        k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
      join carillon.schedules s on s.id = j.schedule_id
    ), listed as (
      select array_agg(o.occurrence) as occurrences, array_agg(o.schedule_id) as schedule_ids, array_agg(o.kind) as kinds, array_agg(o.n) as ns,
        array_agg('back'::text) as outcomes, array_agg(null::timestamptz) as ats, array_agg(null::bigint) as retries,
        array_agg(null::text) as nothing, array_agg(o.version) as versions
      from own o
    )
    select true, w.id, w.queue, w.ready_at
    from listed l cross join lateral carillon.write_outcomes(v_parcel, v_now, l.occurrences, l.schedule_ids, l.kinds, l.ns, l.outcomes, l.ats,
      l.retries, l.nothing, l.nothing, l.nothing, l.nothing, l.nothing, l.versions, p_notify, true) w
    where l.occurrences is not null;
end $$;

-- Moves jobs of other parcels into a slow parcel until it holds p_size jobs at most: of parcels of the same
-- target, shard, priority and team that wait for a turn or are ready and not claimed. A parcel costs the same with
-- two jobs as with two hundred, and thousands of parcels with two jobs each would wait for that cost. The
-- emptied parcels are deleted, and their messages find nothing. A parcel in quarantine is left out, as by
-- carillon.due_turns: its jobs cannot be moved.
-- Locks: the other parcels with skip locked, then their jobs. The caller holds the gate of the shard shared,
-- the parcel's row, and the target's lock (class 6), shared if no parcel is due for a turn there.
-- Returns: how many jobs the parcel lists now.
-- Called by: carillon.enter_target, for a parcel that gets a place; carillon.merge_turns.
create or replace function carillon.fill_parcel(p_head carillon.parcels, p_size int, p_now timestamptz) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_others bigint[];
  v_jobs int := cardinality(p_head.occurrences);
begin
  -- A parcel that is more than half full stays as it is, and so does one whose jobs must not share a parcel.
  if p_head.lane is not null or p_head.owed is true or p_head.alone is true or v_jobs * 2 > p_size then return v_jobs; end if;
  with near as materialized (
    -- The first 250 of all shards, in their order: the index does not have the shard.
    (select p.id, p.shard from carillon.parcels p
      where p.target_id = p_head.target_id and p.turn = 'waits' and coalesce(p.priority, 0) = coalesce(p_head.priority, 0)
        and coalesce(p.team_id, 0) = coalesce(p_head.team_id, 0) and p.turn_at <= carillon.turn_place(p_now, p_head.priority)
      order by p.turn_at, p.id limit 250)
    union all
    (select p.id, p.shard from carillon.parcels p
      where p.target_id = p_head.target_id and p.shard = p_head.shard and p.queue = 'slow' and p.lease_until is null and p.turn is null
        and p.ready_at <= p_now
      order by p.ready_at limit 250)
  ), free as materialized (
    select p.id, cardinality(p.occurrences) as jobs, coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)) as place
    from near o join carillon.parcels p on p.id = o.id
    where o.shard = p_head.shard and o.id <> p_head.id and p.queue = 'slow' and coalesce(p.lane, '') = '' and coalesce(p.held_schedule, 0) = 0
      and p.owed is not true and p.alone is not true and coalesce(p.priority, 0) = coalesce(p_head.priority, 0)
      and coalesce(p.team_id, 0) = coalesce(p_head.team_id, 0)
      and (p.turn = 'waits' or (p.turn is null and p.lease_until is null and p.ready_at <= p_now))
      and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
        or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
    for update of p skip locked
  )
  select array_agg(f.id) into v_others
  from (select f.id, sum(f.jobs) over (order by f.place, f.id) as jobs from free f) f
  where f.jobs <= p_size - v_jobs;
  if v_others is null then return v_jobs; end if;
  -- A job that an edit has moved from one of these parcels to another is in the lists of both.
  with listed as materialized (
    select distinct k.occurrence, k.schedule_id, coalesce(k.kind, 'cadence') as kind, coalesce(k.n, 0) as n
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = p_head.id or p.id = any(v_others)
  ), moved as (
    update carillon.jobs j set parcel_id = p_head.id
    from listed l
    where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = l.kind and j.n = l.n and j.state = 'waiting'
      and j.parcel_id = any(v_others)
  ), gone as (
    delete from carillon.parcels p where p.id = any(v_others)
  )
  update carillon.parcels p set occurrences = a.occurrences, schedule_ids = a.schedule_ids, kinds = a.kinds, ns = a.ns
  from (
    select array_agg(l.occurrence order by l.occurrence, l.schedule_id, l.kind, l.n) as occurrences,
      array_agg(l.schedule_id order by l.occurrence, l.schedule_id, l.kind, l.n) as schedule_ids,
      array_agg(l.kind order by l.occurrence, l.schedule_id, l.kind, l.n) as kinds,
      array_agg(l.n order by l.occurrence, l.schedule_id, l.kind, l.n) as ns
    from listed l) a
  where p.id = p_head.id
  returning cardinality(p.occurrences) into v_jobs;
  return v_jobs;
end $$;

-- Builds `more` for a row `freed` of carillon.claim_parcel: a parcel to be sent, and in how many milliseconds
-- it is ready.
-- Locks: none.
-- Returns: an object with waitMs, freedId and freedQueue.
-- Called by: carillon.claim_parcel.
create or replace function carillon.freed_details(p_wait_ms int, p_parcel bigint, p_queue carillon.queue_class) returns jsonb
  language sql immutable
  as $$ select jsonb_build_object('waitMs', p_wait_ms, 'freedId', p_parcel::text, 'freedQueue', p_queue) $$;

-- Says whether a payload is small enough to come with a claim, by its stored size and without unpacking it.
-- Claims bring no large payloads: a parcel of 250 jobs may have 60 MB of them, and a worker has several
-- parcels. A compressed payload is not light, since unpacked it may be 240 KB.
-- Stable, like the functions that it calls. Otherwise it would not be inlined, and would cost a call for each
-- job.
-- Locks: none.
-- Returns: true for null and for an uncompressed payload of p_bytes at most.
-- Called by: lightPayload in lib/parcel/heavy-payloads.ts, in the statements of the three claims.
create or replace function carillon.is_light(p_payload jsonb, p_bytes int) returns boolean
  language sql stable parallel safe
  as $$ select p_payload is null or (pg_column_compression(p_payload) is null and pg_column_size(p_payload) <= p_bytes) $$;

-- Says how many jobs of a slow target without limits one worker does in half a second, in all its places. At
-- most 2,500: one worker has to hold them.
-- Locks: none.
-- Returns: the number, 0 if a single job takes too long; null if the cost is not known.
-- Called by: carillon.claim_company, carillon.company_of, carillon.grant_turns.
create or replace function carillon.jobs_a_turn(p_cost_ms real) returns int language sql immutable parallel safe
  as $$ select case when p_cost_ms is not null then floor(least(carillon.side_by_side() * 500 / greatest(p_cost_ms, 0.001), 2500))::int end $$;

-- Sets whether the statements that the calling function plans next join by hash (true) or by nested loops
-- (false). A function with kept plans plans under its own settings; carillon.plain_jobs needs others for one
-- statement. The SET clause of the calling function restores the settings at its end.
-- Locks: none.
-- Returns: nothing.
-- Called by: carillon.claim_parcel, carillon.claim_parcels and carillon.claim_company, around
-- carillon.plain_jobs.
create or replace function carillon.join_lists(p_together boolean) returns void language sql
  as $$
    select set_config('enable_hashjoin', case when p_together then 'on' else 'off' end, true),
      set_config('enable_nestloop', case when p_together then 'off' else 'on' end, true)
  $$;

-- Moves the one job of a slow parcel, which the calling edit has made, into an unclaimed parcel of the same
-- target, shard, priority, team and quarter of a second, if there is one with fewer than ten jobs. So jobs that are
-- made one by one do not need a message each. Both parcels must be ready more than a second from now. Parcels
-- of targets with limits, in lanes, under a hold, of the backlog and those that travel alone are left out.
-- Locks: the other parcel's row with skip locked, the job, and the new parcel's row.
-- Returns: true if the job was moved: then the new parcel is deleted and need not be sent.
-- Called by: joinParcels in lib/parcel/join-parcels.ts.
create or replace function carillon.join_parcel(p_parcel bigint) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  -- A parcel that is ready sooner may be claimed at this moment.
  v_from timestamptz := carillon.clock() + interval '1 second';
  v_new carillon.parcels;
  v_other carillon.parcels;
begin
  select p.* into v_new from carillon.parcels p
  where p.id = p_parcel and p.queue = 'slow' and p.ready_at > v_from and p.ready_at < 'infinity' and p.lease_until is null and p.turn is null
    and p.lane is null and p.held_schedule is null and p.owed is not true and p.alone is not true and cardinality(p.occurrences) = 1
    and not exists (select from carillon.targets t where t.id = p.target_id and (t.concurrency is not null or t.rate_count is not null));
  if not found then return false; end if;
  select p.* into v_other from carillon.parcels p
  where p.queue = 'slow' and p.target_id = v_new.target_id and p.shard = v_new.shard and p.lease_until is null and p.turn is null
    and p.ready_at >= greatest(v_from, date_bin('250 ms', v_new.ready_at, 'epoch')) and p.ready_at < date_bin('250 ms', v_new.ready_at, 'epoch') + interval '250 ms'
    and p.lane is null and p.held_schedule is null and p.owed is not true and p.alone is not true
    and p.priority is not distinct from v_new.priority and p.team_id is not distinct from v_new.team_id
    and cardinality(p.occurrences) < 10 and p.id <> p_parcel
    -- A parcel that still lists a withdrawn job of this schedule is left out: it would list the job twice.
    and v_new.schedule_ids[1] <> all (p.schedule_ids)
  order by p.ready_at, p.id limit 1 for update skip locked;
  if not found then return false; end if;
  update carillon.parcels p set ready_at = greatest(p.ready_at, v_new.ready_at),
    occurrences = p.occurrences || v_new.occurrences, schedule_ids = p.schedule_ids || v_new.schedule_ids,
    kinds = coalesce(p.kinds, array_fill('cadence'::carillon.job_kind, array[cardinality(p.occurrences)])) || coalesce(v_new.kinds[1], 'cadence'),
    ns = coalesce(p.ns, array_fill(0, array[cardinality(p.occurrences)])) || coalesce(v_new.ns[1], 0)
  where p.id = v_other.id;
  update carillon.jobs j set parcel_id = v_other.id
  where j.occurrence = v_new.occurrences[1] and j.schedule_id = v_new.schedule_ids[1] and j.kind = coalesce(v_new.kinds[1], 'cadence')
    and j.n = coalesce(v_new.ns[1], 0) and j.state = 'waiting' and j.parcel_id = p_parcel;
  delete from carillon.parcels p where p.id = p_parcel;
  return true;
end $$;

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

-- Gives the free places at a target to the parcels that wait there, after a settle that has committed. The
-- commit does not wait for the disk: the sweep gives again the turns that are lost.
-- Locks: the target (class 6), then as carillon.grant_turns.
-- Returns: the parcels that got a turn, to be sent.
-- Called by: leavePlaces in lib/parcel/leave-parcel.ts, for settleTogether and leaveParcel.
create or replace function carillon.leave_places(p_target int) returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  return query select * from carillon.next_turns(p_target);
end $$;

-- Locks the parcels of these jobs, except those that wait in a lane, and the targets at which they wait. For
-- a batch that may replace the job of a one-time schedule: it takes these locks before those of lanes, as
-- carillon.cancel_jobs does. Only jobs of kind `cadence` with n = 0 are looked for.
-- Locks: the parcels that do not wait at a target, by id; the targets (class 6), ascending; the parcels that
-- wait there, by id. The caller holds the gates exclusively.
-- Returns: false if a claim has made one of the parcels wait at its target meanwhile. That row is then locked
-- out of order: the caller must wait for no further lock and start again.
-- Called by: lockReplaced in lib/batch/lock-many.ts.
create or replace function carillon.lock_parcels_of(p_occurrences timestamptz[], p_schedule_ids bigint[]) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_parcels bigint[];
  v_turns bigint[];
  v_targets int[];
  v_target int;
begin
  select array_agg(distinct p.id), array_agg(distinct p.id) filter (where p.turn = 'waits'),
    array_agg(distinct p.target_id) filter (where p.turn = 'waits')
  into v_parcels, v_turns, v_targets
  from unnest(p_occurrences, p_schedule_ids) k (occurrence, schedule_id)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting'
  join carillon.parcels p on p.id = j.parcel_id;
  perform p.id from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
  where coalesce(p.lane, '') = '' and p.turn is distinct from 'waits' order by p.id for update of p;
  if exists (
    select from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
    where coalesce(p.turn, 'granted') = 'waits' and p.id <> all(coalesce(v_turns, '{}'))) then
    return false;
  end if;
  for v_target in select t.id from unnest(v_targets) t (id) order by 1 loop
    perform carillon.lock_target(v_target);
  end loop;
  perform p.id from unnest(v_turns) v (id) join carillon.parcels p on p.id = v.id
  where coalesce(p.turn, 'granted') = 'waits' order by p.id for update of p;
  return true;
end $$;

-- Finds the parcels with jobs of some schedules. A parcel that waits in a lane or for a hold has jobs of one
-- schedule, and an index finds it: a team may have hundreds of thousands of them, and an edit that read all of
-- them kept the gates of its shards closed meanwhile. All other parcels are read: those that are sent, under a
-- lease, or wait for a turn or a retry.
-- Locks: none.
-- Returns: the ids of the parcels, in no order.
-- Called by: enterLanes and markRunning in lib/parcel/lanes.ts, openJobsOf in lib/history/open-jobs.ts,
-- withOpenJobs in lib/job-control/delete-ended.ts, withdrawUnread in lib/job/withdraw.ts, askToStop in lib/batch/cancel-label.ts,
-- readOpenJobs and runningAmong in lib/move/read-moving.ts.
create or replace function carillon.parcels_of(p_schedules bigint[]) returns setof bigint
  language sql stable rows 10
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
    select p.id from unnest(p_schedules) s (id) join carillon.parcels p on p.schedule_ids[1] = s.id where p.lane is not null
    union all
    select p.id from unnest(p_schedules) s (id) join carillon.parcels p on p.held_schedule = s.id
    union all
    select p.id from carillon.parcels p
    where p.lane is null and p.offer_at > '-infinity' and p.held_schedule is null and p.schedule_ids && p_schedules
  $$;

-- Makes the rechecks of jobs that the calling settle has just written as succeeded: for each a job of kind
-- `again` at p_at, in a parcel of its own, with the payload of the job if it has one of its own. A job whose
-- schedule was edited or deleted since it was claimed gets none: its reason is `superseded`. The days of the
-- rechecks must be attached (carillon.attach_missing_days). A payload of its own counts in the quota of the
-- schedule's team: the settle cannot be refused, but the team's next edit can.
-- Locks: only what it inserts, and rows of carillon.usage as carillon.note_usage does. The caller holds the
-- gates of the schedules shared, so that no edit comes between.
-- Returns: the parcels of the rechecks, each ready at the instant of its recheck.
-- Called by: carillon.write_outcomes, if an outcome is `again`.
create or replace function carillon.make_rechecks(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_at timestamptz[])
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_recheck record;
  v_n int;
begin
  -- In one order for all callers: two that make a recheck for the same instant of a schedule wait for each
  -- other.
  for v_recheck in
    select date_trunc('milliseconds', r.at) as at, s.id as schedule_id, s.shard, s.lane, s.queue, s.team_id, s.version, coalesce(j.checks, 0) + 1 as checks, j.payload,
      nextval('carillon.parcels_id_seq') as parcel, coalesce(j.root_occurrence, j.occurrence) as root_occurrence,
      coalesce(j.root_kind, j.kind) as root_kind, coalesce(j.root_n, j.n) as root_n
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_at) r (occurrence, schedule_id, kind, n, at)
    join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
      and j.state = 'succeeded' and j.parcel_id = p_parcel.id and j.reason is distinct from 'superseded'
    join carillon.schedules s on s.id = r.schedule_id
    order by s.id, 1, r.occurrence, r.kind, r.n
  loop
    select coalesce(max(o.n) + 1, 0) into v_n from carillon.jobs o
    where o.occurrence = v_recheck.at and o.schedule_id = v_recheck.schedule_id and o.kind = 'again';
    loop
      insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version, kind, n, checks, payload, root_occurrence, root_kind, root_n,
        shard)
      values (v_recheck.at, v_recheck.schedule_id, v_recheck.at, v_recheck.parcel, v_recheck.version, 'again', v_n, v_recheck.checks,
        v_recheck.payload, v_recheck.root_occurrence, v_recheck.root_kind, v_recheck.root_n, v_recheck.shard)
      on conflict do nothing;
      exit when found;
      v_n := v_n + 1;
    end loop;
    if v_recheck.payload <> 'null' and v_recheck.team_id is not null then
      perform carillon.note_usage(array[v_recheck.team_id], array[(v_recheck.schedule_id / 262144)::int], array[0], array[0]::bigint[], array[0]::bigint[],
        array[carillon.payload_bytes(v_recheck.payload)::bigint]);
    end if;
    insert into carillon.jobs_beside (occurrence, schedule_id, kind, n, shard)
    values (v_recheck.at, v_recheck.schedule_id, 'again', v_n, v_recheck.shard);
    insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
    select v_recheck.lane, v_recheck.at, v_recheck.at, v_recheck.schedule_id, 'again', v_n where v_recheck.lane is not null
    on conflict do nothing;
    return query
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, priority, team_id, occurrences, schedule_ids, kinds, ns)
      values (v_recheck.parcel, v_recheck.shard, v_recheck.queue, v_recheck.at, greatest(p_now + interval '20 seconds', v_recheck.at - interval '150 seconds'),
        case when v_recheck.queue = p_parcel.queue then p_parcel.target_id end, p_parcel.priority, v_recheck.team_id,
        array[v_recheck.at], array[v_recheck.schedule_id], array['again'::carillon.job_kind], array[v_n])
      returning parcels.id, parcels.queue, parcels.ready_at;
  end loop;
end $$;

-- Marks parcels that were handed to their queue: the sweep sends one again only if no worker has claimed it a
-- minute after it was ready. Later offers are counted by the sweep. A function, because its plan is kept:
-- planning it again for one parcel took twice as long as running it.
-- Locks: the parcels by id, with skip locked: a locked parcel is being claimed or settled and need not be
-- marked.
-- Returns: nothing.
-- Called by: markSent in lib/parcel/hand-over.ts, after the parcels were sent.
create or replace function carillon.mark_sent(p_ids bigint[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  with locked as (
    select id from carillon.parcels where id = any(p_ids) order by id for update skip locked
  )
  update carillon.parcels p
  set offers = greatest(p.offers, 1), offer_at = greatest(p.offer_at, greatest(p.ready_at, carillon.clock()) + interval '1 minute'),
    -- A worker may have claimed it before it is marked here.
    sent_at = coalesce(p.sent_at, least(carillon.clock(), p.claimed_at))
  from locked where p.id = locked.id;
end $$;

-- Fills the parcels whose turns at a target come next with jobs of other parcels, before the turns are given.
-- A shard under an edit is left out.
-- Locks: the parcels with skip locked, and the gates of their shards (class 2), shared and by a try: a gate
-- comes before the target in the lock order and must not be waited for here. Then as carillon.fill_parcel.
-- The caller holds the target's lock (class 6).
-- Returns: nothing.
-- Called by: carillon.grant_turns, before it chooses the parcels.
create or replace function carillon.merge_turns(p_target carillon.targets, p_now timestamptz, p_max bigint) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_size int := carillon.parcel_jobs('slow', null, null, null, p_target.cost_ms);
  v_turn record;
  v_head carillon.parcels;
begin
  -- A limit counts places and starts by the parcel as it is.
  if p_target.concurrency is not null or p_target.rate_count is not null then return; end if;
  for v_turn in select d.id from carillon.due_turns(p_target.id, p_now, p_max) d loop
    select p.* into v_head from carillon.parcels p
    where p.id = v_turn.id and p.queue = 'slow' and coalesce(p.turn, 'granted') = 'waits' and coalesce(p.lane, '') = ''
      and coalesce(p.held_schedule, 0) = 0 and p.owed is not true
      and p.alone is not true and cardinality(p.occurrences) * 2 <= v_size
    for update skip locked;
    continue when not found or not pg_try_advisory_xact_lock_shared(2, v_head.shard);
    perform carillon.fill_parcel(v_head, v_size, p_now);
  end loop;
end $$;

-- Moves the jobs at positions p_from to p_to of the lists of a ready, unclaimed parcel into a new parcel,
-- which keeps the target and the turn there. It serves the parts of a parcel whose claim has failed. The old
-- parcel keeps its lists: each reader of a parcel takes only jobs that name it, and so a parcel that cannot
-- be written loses its jobs too.
-- Locks: the parcel's row, then its jobs. The caller holds the gate of the parcel's shard (class 2) shared.
-- Returns: the new parcel, to be sent; no row if the parcel is not to be claimed now or none of these jobs is
-- in it any more.
-- Called by: moveSome in lib/parcel/split-parcel.ts.
create or replace function carillon.move_some(p_parcel bigint, p_from int, p_to int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_id bigint := nextval('carillon.parcels_id_seq');
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;
  if v_parcel.id is null then return; end if;
  return query
    with moved as (
      update carillon.jobs j set parcel_id = v_id
      from unnest(v_parcel.occurrences[p_from:p_to], v_parcel.schedule_ids[p_from:p_to], v_parcel.kinds[p_from:p_to], v_parcel.ns[p_from:p_to])
        k (occurrence, schedule_id, kind, n)
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p_parcel
      returning j.occurrence, j.schedule_id, j.kind, j.n
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, team_id, owed, alone, made_at, sent_at, waited_at,
      occurrences, schedule_ids, kinds, ns)
    select v_id, v_parcel.shard, v_parcel.queue, v_parcel.ready_at, v_now + interval '20 seconds', v_parcel.target_id, v_parcel.turn_at, v_parcel.priority,
      v_parcel.team_id, v_parcel.owed, v_parcel.alone, v_parcel.made_at, v_parcel.sent_at, v_parcel.waited_at, array_agg(m.occurrence order by m.occurrence, m.schedule_id, m.kind, m.n),
      array_agg(m.schedule_id order by m.occurrence, m.schedule_id, m.kind, m.n), array_agg(m.kind order by m.occurrence, m.schedule_id, m.kind, m.n),
      array_agg(m.n order by m.occurrence, m.schedule_id, m.kind, m.n)
    from moved m having count(*) > 0
    returning parcels.id, parcels.queue, parcels.ready_at;
end $$;

-- Gives the fence of the next claim of a parcel whose last fence is p_last: the server's clock in
-- milliseconds since 1970, modulo 2^31, because workers keep a fence in 32 bits. If p_last is equal to that
-- or up to a second ahead, as for claims within one millisecond, it is p_last + 1. So a parcel gets no fence
-- twice within 24 days, and no worker lives as long. 0 is the fence of a parcel that was never claimed.
-- A counter will not do. The commits of carillon.claim_parcels and carillon.claim_company do not wait for the
-- disk, so a crash of the database may lose a claim, and a counter would give its number to the next claim:
-- the worker of the lost claim could then settle under the lease of the next one. carillon.clock() will not
-- do either: a test may hold it still.
-- Locks: none.
-- Returns: the fence, 1 or more.
-- Called by: carillon.claim_parcel, carillon.claim_parcels, carillon.claim_company, carillon.end_lease.
create or replace function carillon.next_fence(p_last int) returns int
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select greatest(1, case when p_last > 0 and (p_last - c.ms) & 2147483647 < 1000 then (p_last + 1::bigint) & 2147483647 else c.ms end)::int
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint & 2147483647 as ms) c
  $$;

-- Gives the part of an error that is the same each time the same fault happens: ids, numbers, times, addresses,
-- paths, secrets and quoted data become placeholders such as `<id>`. What tells faults apart stays: words, codes
-- such as 404 or 23505, names of code in quotes (`relation "users"`), hosts, and ports of services.
-- It reads the first 600 characters and gives at most 200: a settle of many long errors must not take long. Each
-- step that needs a digit, a quote or a slash is left out for a text without one. A kept code is marked with U+0001
-- until the end.
-- Locks: none.
-- Returns: the text; an empty one for null.
-- Called by: carillon.note_errors.
create or replace function carillon.normalised_error(p_error text) returns text
  language plpgsql immutable parallel safe
  as $$
declare
  v text := regexp_replace(translate(left(coalesce(p_error, ''), 600), E'\u0001', ''), '\s+', ' ', 'g');
begin
  if strpos(v, '://') > 0 then
    v := regexp_replace(v, '([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^ /@]*@)?([^ /?#:,;)<>]*)(?::\d+)?(?:[/?#][^ ,;)<>]*)?', '\1\2/<path>', 'g');
  end if;
  v := regexp_replace(v, '\m(bearer|basic) [a-z0-9._~+/=-]{16,}', '\1 <secret>', 'gi');
  v := regexp_replace(v, '((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)["'']? ?[:=] ?["'']?)[^ "'',;&)<]+', '\1<secret>', 'gi');
  if v ~ '["'']' then
    v := regexp_replace(v, '"(message|error|code|reason|type|title|detail|status|statuscode|errortype|errormessage|__type)" ?: ?"([^"]*)"', '\1: \2', 'gi');
    v := regexp_replace(v, '"(status|statuscode|code)" ?: ?', '\1: ', 'gi');
    v := regexp_replace(v, '\m(relation|column|constraint|index|table|schema|database|role|function|type|reading|setting|property|module|package|method|field|parameter|argument|operation|handler|queue|topic|trigger|sequence|extension)(:? )["'']([a-z_@./][a-z0-9_$@./-]*)["'']',
      '\1\2\3', 'gi');
    v := regexp_replace(v, '"[^"]*("|$)', '<text>', 'g');
    v := regexp_replace(v, '(^|[^[:alnum:]_])''[^'']*''', '\1<text>', 'g');
  end if;
  if v ~ '[/@\\]' then
    v := regexp_replace(v, '[[:alnum:]_.+%-]+@[[:alnum:]-]+(?:\.[[:alnum:]-]+)+', '<email>', 'g');
    v := regexp_replace(v, '(^|[ (=:,[|])/(?:[[:alnum:]_.@%+~=-]+/?)+(?:\?[^ ]*)?(?::\d+)*', '\1<path>', 'g');
    v := regexp_replace(v, '[a-zA-Z]:\\[^ ]+', '<path>', 'g');
  end if;
  if v ~ '\d' then
    v := regexp_replace(v, '\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: GMT)?|\m\d\d:\d\d:\d\d(?:[.,]\d+)?\M',
      '<time>', 'g');
    v := regexp_replace(v, '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|(?=[a-zA-Z+/_=-]*\d)[a-zA-Z0-9+/_=-]{24,}', '<id>', 'g');
    v := regexp_replace(v, '(?:\m\d{1,3}(?:\.\d{1,3}){3}|\[?::1\]?):(\d{2,4}|[12]\d{4}|3[01]\d{3})\M', E'<ip>:\u0001\\1', 'g');
    v := regexp_replace(v, '\m\d{1,3}(?:\.\d{1,3}){3}\M', '<ip>', 'g');
    if v ~ ':[0-9a-fA-F]*:' then
      v := regexp_replace(v, '(^|[ [(=])\[?(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{1,4}\]?', '\1<ip>', 'g');
    end if;
    v := regexp_replace(v, '\m(status(?: ?code)?|code|errno|sqlstate)([ :=#(-]{1,4})(\d{1,5}|[0-9A-Z]{5})\M', E'\\1\\2\u0001\\3', 'gi');
    v := regexp_replace(v, '\m(http(?:/\d(?:\.\d)?)?|answered|response|returned|error)([ :=#([]{1,3})([1-5]\d\d)\M', E'\\1\\2\u0001\\3', 'gi');
    v := regexp_replace(v, '(^|: )([1-5]\d\d)(?= [A-Z][a-z])', E'\\1\u0001\\2', 'g');
    v := regexp_replace(v, '(^|\merror |[(:[] ?)([A-Z]{1,6})(-?)(\d{2,5})(?=[:) \]]|$)', E'\\1\u0001\\2\\3\u0001\\4', 'g');
    v := regexp_replace(v, '\m(ERR_[A-Z0-9_]+)\M', E'\u0001\\1', 'g');
    -- Durations, in the forms of a schedule's timeout: one target has schedules with different ones.
    v := regexp_replace(v, '\m(?:\d+(?:\.\d+)?(?:ms|[hms]))+\M', '<n>s', 'g');
    v := regexp_replace(v, E'(?<!\u0001)\\m\\d+(?:[.,]\\d+)*(ms|s|min|h|[kKMGT]i?B|bytes|x|th|st|nd|rd)?\\M', '<n>\1', 'g');
    v := regexp_replace(v, E'(?<!\u0001)\\m\\w*\\d\\w*\\M', '<id>', 'g');
  end if;
  if strpos(v, '<') > 0 then
    v := regexp_replace(v, '<(n|id|text)>(?:, ?<(?:n|id|text)>)+', '<\1>, …', 'g');
  end if;
  return btrim(left(translate(v, E'\u0001', ''), 200));
end $$;

-- Names the error group of each failed job of these lists: 12 hex digits that are the same for the same target,
-- class and normalised error, in every process and for ever. The first failed job of a day in a group notes the
-- group for that day. Equal errors of one day are normalised once.
-- The row of a group lies in the day of its jobs, so that it is dropped with them. Two calls at once may note the
-- same row twice, so that neither waits for the other.
-- Locks: none.
-- Returns: the groups, in the order of the lists; null for a job that has not failed (outcome `retry`, `crashed`
-- or `dead`).
-- Called by: carillon.write_outcomes, carillon.end_lease.
create or replace function carillon.note_errors(p_occurrences timestamptz[], p_schedule_ids bigint[], p_outcomes text[], p_errors text[], p_classes text[])
  returns text[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_groups text[] := array_fill(null::text, array[cardinality(p_outcomes)]);
  v_same record;
  v_error text;
  v_id text;
  v_place int;
begin
  for v_same in
    select e.day, e.occurrence, coalesce((select t.name from carillon.targets t where t.id = e.target_id), e.target_kind, '') as target, e.class, e.error, e.places
    from (
      select date_bin('1 day', g.occurrence, 'epoch') as day, s.target_id, s.target_kind, g.class, g.error, min(g.occurrence) as occurrence,
        array_agg(g.place) as places
      from unnest(p_occurrences, p_schedule_ids, p_outcomes, p_errors, p_classes) with ordinality g (occurrence, schedule_id, outcome, error, class, place)
      left join carillon.schedules s on s.id = g.schedule_id
      where g.outcome in ('retry', 'crashed', 'dead')
      group by 1, 2, 3, 4, 5) e
  loop
    v_error := carillon.normalised_error(v_same.error);
    v_id := left(encode(sha256(convert_to(concat_ws(E'\n', v_same.target, coalesce(v_same.class, ''), v_error), 'UTF8')), 'hex'), 12);
    foreach v_place in array v_same.places loop
      v_groups[v_place] := v_id;
    end loop;
    continue when exists (
      select from carillon.error_groups g where g.id = v_id and g.occurrence >= v_same.day and g.occurrence < v_same.day + interval '24 hours');
    -- Else the day has been dropped while its last worker was still busy.
    if to_regclass('carillon.error_groups_' || to_char(v_same.day at time zone 'UTC', 'YYYYMMDD')) is not null then
      insert into carillon.error_groups (occurrence, id, target, class, error) values (v_same.occurrence, v_id, v_same.target, v_same.class, v_error);
    end if;
  end loop;
  return v_groups;
end $$;

-- Keeps the times of a parcel whose work has ended: one row for each day of its occurrences, in the day of the
-- jobs. A parcel may still list a job that has left it and whose day is dropped: that day gets no row. A parcel
-- that no worker has claimed gets none.
-- Locks: none.
-- Returns: nothing.
-- Called by: carillon.settle_parcel, carillon.settle_parcels, carillon.end_lease, carillon.leave_parcel.
create or replace function carillon.note_times(p_id bigint, p_claimed_at timestamptz, p_made_at timestamptz, p_sent_at timestamptz, p_waited_at timestamptz,
    p_now timestamptz, p_target_id int, p_queue carillon.queue_class, p_shard smallint, p_occurrences timestamptz[])
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_first timestamptz;
  v_last timestamptz;
begin
  if p_claimed_at is null then return; end if;
  select min(o), max(o) into v_first, v_last from unnest(p_occurrences) o;
  -- Nearly all parcels have occurrences of one day.
  if date_bin('1 day', v_first, 'epoch') <> date_bin('1 day', v_last, 'epoch') then
    perform carillon.note_times(p_id, p_claimed_at, p_made_at, p_sent_at, p_waited_at, p_now, p_target_id, p_queue, p_shard, array[min(o)])
    from unnest(p_occurrences) o group by date_bin('1 day', o, 'epoch');
  elsif to_regclass('carillon.parcel_times_' || to_char(v_first at time zone 'UTC', 'YYYYMMDD')) is not null then
    insert into carillon.parcel_times (occurrence, parcel_id, claimed_at, made_at, sent_at, waited_at, settled_at, target_id, queue, shard)
    values (v_first, p_id, p_claimed_at, p_made_at, p_sent_at, p_waited_at, p_now, p_target_id, p_queue, p_shard);
  end if;
end $$;

-- Tells how long after its claim the target of a job began, and when it ended, from the milliseconds before
-- p_told_at that its worker measured. Neither is before the claim or after p_now, whatever the worker's clock did.
-- A beginning less than 50 ms after the claim is not kept: nearly all jobs begin at once, and their rows stay as
-- they are. It has no SET clause and is a set, so that it is inlined: called for each job it took a fifth of a
-- settle with failures.
-- Locks: none.
-- Returns: one row. Without milliseconds the target began at the claim (target_ms null) and ended at p_told_at.
-- Called by: carillon.settle_parcel, carillon.settle_parcels, carillon.write_outcomes.
create or replace function carillon.own_times(p_claimed_at timestamptz, p_told_at timestamptz, p_now timestamptz, p_started_ms int, p_ended_ms int)
  returns table (target_ms int, ended_at timestamptz)
  language sql stable parallel safe
  as $$
    select case when p_started_ms is not null and least(t.began_at, t.ended_at) >= p_claimed_at + interval '50 milliseconds'
        then (extract(epoch from least(t.began_at, t.ended_at) - p_claimed_at) * 1000)::int end,
      t.ended_at
    from (
      select p_told_at - p_started_ms * interval '1 millisecond' as began_at,
        greatest(p_claimed_at, least(p_now, p_told_at - greatest(p_ended_ms, 0) * interval '1 millisecond')) as ended_at) t
  $$;

-- Says how many jobs of a target travel in one parcel, from 1 to 250. Fast: as many as the target's limit of
-- jobs at once, or of one team's jobs at once where that is less, which callers give as p_concurrency. Slow: as many as take half a second in the places that they may have, and no fewer than these
-- places, which would be done no sooner; as many as a worker has places if the cost is not known. With a
-- rate: no more than may start in one second.
-- Locks: none.
-- Returns: the number of jobs.
-- Called by: packedJobs in lib/plan/packed-jobs.ts, which packs new jobs; carillon.enter_target,
-- carillon.merge_turns and carillon.wait_where_full.
create or replace function carillon.parcel_jobs(p_queue carillon.queue_class, p_concurrency int, p_rate_count int, p_rate_ms int, p_cost_ms real) returns int
  language sql immutable parallel safe
  as $$
    select greatest(1, least(250, case
        when p_queue = 'fast' then p_concurrency
        when p_cost_ms is null then carillon.side_by_side()
        else greatest(p.places, floor(least(p.places * 500 / greatest(p_cost_ms, 0.001), 250))) end,
      p_rate_count::bigint * 1000 / p_rate_ms))::int
    from (select least(carillon.side_by_side(), p_concurrency) as places) p
  $$;

-- Reads payloads of claimed jobs, in the order of the lists from the first on: as many as have p_bytes
-- together, or the first alone. A payload is the job's own, or else that of the settings in force in the
-- version p_versions. Each is unpacked once, and one behind the page at most.
-- Locks: none.
-- Returns: one payload as text for each job of the page; null if neither payload exists any more.
-- Called by: readPage in lib/parcel/heavy-payloads.ts.
create or replace function carillon.payload_page(
  p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[], p_versions int[], p_bytes int)
  returns setof text
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_payload text;
  v_bytes bigint := 0;
begin
  for i in 1 .. cardinality(p_schedule_ids) loop
    v_payload := coalesce(
      (select j.payload from carillon.jobs j
       where j.occurrence = p_occurrences[i] and j.schedule_id = p_schedule_ids[i] and j.kind = p_kinds[i] and j.n = p_ns[i]),
      (select v.payload from carillon.schedule_versions c join carillon.schedule_versions v on v.schedule_id = c.schedule_id and v.version = c.spec_version
       where c.schedule_id = p_schedule_ids[i] and c.version = p_versions[i]))::text;
    v_bytes := v_bytes + coalesce(octet_length(v_payload), 0);
    exit when i > 1 and v_bytes > p_bytes;
    return next v_payload;
  end loop;
end $$;

-- Says how many places of a worker p_jobs jobs of a parcel have had, for the cost of the target: one for each
-- job, up to the parcel's places. The parcels of a company share the worker's places evenly.
-- Locks: none.
-- Returns: the number of places, perhaps a fraction.
-- Called by: carillon.settle_parcel and carillon.settle_parcels, for the `ms` of target_work.
create or replace function carillon.places_of(p_parcel carillon.parcels, p_jobs int) returns float8 language sql immutable parallel safe
  as $$
    select case when p_parcel.company > 1 then least(p_jobs * p_parcel.company, carillon.side_by_side())::float8 / p_parcel.company
      else least(p_jobs, coalesce(p_parcel.slots, carillon.side_by_side())) end
  $$;

-- Reads the jobs of parcels that may start as they are: no lane or overlap rule applies, the deadline is not
-- over, the schedule is not held, a recheck is not superseded, and queue and target are those of the parcel.
-- p_limited lists the targets with limits, whose jobs are left out where p_target is null. p_from and p_to
-- are the first and the last occurrence.
-- It states the conditions of carillon.startable, list by list: jobs, schedules and versions are read along
-- their indexes, each leaf once and in order, and joined in memory. Looked up one by one they cost half as
-- much again. It has no SET clause, so that it is inlined into the calling statement, which joins well only
-- after carillon.join_lists(true).
-- Locks: none. The caller has passed the gates of the parcels shared, and holds the parcels' rows.
-- Returns: one row for each such job, in any order.
-- Called by: carillon.claim_parcel, carillon.claim_parcels, carillon.claim_company.
create or replace function carillon.plain_jobs(p_parcels bigint[], p_occurrences timestamptz[], p_schedule_ids bigint[], p_from timestamptz, p_to timestamptz,
    p_queue carillon.queue_class, p_target int, p_limited int[], p_now timestamptz)
  returns table (parcel_id bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language sql stable
  as $$
  with s as materialized (
    select s.id, s.spec_version, s.key, s.group_key, s.overlap, s.deadline_ms, s.fresh_version,
      coalesce(s.held_since is null or s.held_until <= p_now, false) as may
    from carillon.schedules s
    where s.id = any(p_schedule_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity' and s.queue = p_queue and s.lane is null
      and case when p_target is not null then s.target_id is not distinct from p_target
        else p_limited = '{}' or s.target_id is null or s.target_id <> all (p_limited) end
  ), common as materialized (
    select mode() within group (order by s.spec_version) as version from s
  )
  select j.parcel_id, j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.version, greatest(j.version, s.spec_version), s.key, s.group_key,
    v.target, coalesce(j.payload, v.payload),
    -- Settings that few jobs have travel in one column, which is null for all other jobs.
    case when j.checks is not null or j.forgiven is not null or j.origin is not null or v.body ? 'retry' or v.body ? 'timeout' then
      jsonb_build_object('checks', j.checks, 'forgiven', j.forgiven, 'origin', j.origin, 'retry', v.body -> 'retry', 'timeout', v.body -> 'timeout') end
  from (
    select j.* from carillon.jobs j
    -- The two lists may pair an occurrence with another parcel's schedule, and the old parcel of a job that
    -- was planned again may still list the job. So the job's own parcel_id decides.
    where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.parcel_id = any(p_parcels) and j.state = 'waiting'
      -- Lists prune no partition; the first and the last occurrence do.
      and j.occurrence >= p_from and j.occurrence <= p_to
    offset 0
  ) j
  join s on s.id = j.schedule_id
  join (
    -- A schedule may have had thousands of versions. The version that most of these schedules have is read by
    -- the list, the versions of the others one by one: by two lists, each schedule would be read at every
    -- version that any other has.
    select v.schedule_id, v.version, v.target, v.payload, v.body from carillon.schedule_versions v
    where v.schedule_id = any(p_schedule_ids) and v.version = (select c.version from common c)
    union all
    select v.schedule_id, v.version, v.target, v.payload, v.body
    from s cross join lateral (select v.* from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version offset 0) v
    where s.spec_version <> (select c.version from common c)
  ) v on v.schedule_id = s.id and v.version = s.spec_version
  where (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version) and (s.may or j.kind = 'manual')
    and ((s.overlap is null and (s.deadline_ms is null or j.forgiven is not null or j.attempt > 0 or j.started_at is not null
      or j.due_at + s.deadline_ms * interval '1 millisecond' >= p_now)) or j.kind <> 'cadence')
$$;

-- Finds parcels that could start now at a slow target, for a worker that has to wait or takes further parcels
-- along: their messages have not come yet or are not needed any more. The search begins at a random shard, so
-- that two callers find different ones. Parcels of the backlog and those that travel alone are left out.
-- Locks: none.
-- Returns: the ids of p_max parcels at most.
-- Called by: carillon.claim_parcel, for a worker that waits; carillon.company_of and carillon.claim_company.
create or replace function carillon.ready_parcels(p_target int, p_now timestamptz, p_max int) returns setof bigint
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_from int := floor(random() * 64);
begin
  -- Nearly always there is none.
  if not exists (
    select from carillon.parcels p where p.target_id = p_target and p.queue = 'slow' and p.lease_until is null and p.turn is null)
  then
    return;
  end if;
  return query
    select o.id
    from generate_series(v_from, v_from + 63) g (shard) cross join lateral (
      select p.id from carillon.parcels p
      where p.target_id = p_target and p.shard = (g.shard % 64)::smallint and p.queue = 'slow' and p.lease_until is null and p.turn is null
        and p.ready_at <= p_now and p.owed is not true and p.alone is not true
      order by p.ready_at limit p_max) o
    limit p_max;
end $$;

-- Takes those jobs out of a claimed parcel that may not start here and now. A job of a deleted schedule is
-- cancelled, `deleted`. A job of a held schedule waits in another parcel until the hold ends, unless it was
-- fired by hand. A job that goes to another queue or target than the parcel, or to one of the limited targets
-- p_limited from a parcel without a target, goes on at once in a parcel for it. Late jobs and those that pass
-- lanes stay, for carillon.pass_lanes.
-- The new parcels hold ten jobs at most. They keep the priority, owed and alone of the old parcel and,
-- without a hold, its turn.
-- Locks: the jobs. The claim holds the gate shared and the parcel's row.
-- Returns: the new parcels that are ready now, to be sent.
-- Called by: carillon.claim_parcel, when fewer jobs may simply start than the parcel lists.
create or replace function carillon.set_aside(p_parcel carillon.parcels, p_now timestamptz, p_limited int[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  update carillon.jobs j set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = p_now
  from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n),
       carillon.schedules s
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = p_parcel.id
    and s.id = k.schedule_id and s.deleted_at is not null;

  return query
    with aside as (
      select j.occurrence, j.schedule_id, j.kind, j.n, j.queue, h.held, case when h.held is null then p_now else coalesce(j.held_until, 'infinity') end as ready_at,
        case when j.queue = 'slow' or j.target_id = any(p_limited) then j.target_id end as target_id
      from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
        and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel.id
      cross join lateral (
        select case when j.held_since is not null and coalesce(j.held_until, 'infinity') > p_now and j.kind <> 'manual' then j.schedule_id end as held) h
      where h.held is not null or j.queue <> p_parcel.queue
        or case when p_parcel.target_id is null then j.target_id = any(p_limited) else j.target_id is distinct from p_parcel.target_id end
    ), seated as (
      select a.*, (row_number() over (partition by a.queue, a.target_id, a.held order by a.occurrence, a.schedule_id, a.kind, a.n) - 1) / 10 as seat from aside a
    ), packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, g.* from (
        select queue, target_id, held, seat, max(ready_at) as ready_at,
          array_agg(occurrence order by occurrence, schedule_id, kind, n) as occurrences,
          array_agg(schedule_id order by occurrence, schedule_id, kind, n) as schedule_ids,
          array_agg(kind order by occurrence, schedule_id, kind, n) as kinds,
          array_agg(n order by occurrence, schedule_id, kind, n) as ns
        from seated group by queue, target_id, held, seat order by seat) g
    ), inserted as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, target_id, turn_at, priority, team_id, owed, alone, made_at, occurrences,
        schedule_ids, kinds, ns)
      -- In time for a message to come when the parcel is ready: the sweep looks once a minute, and the queue
      -- can delay a message for longer than these 150 seconds.
      select id, p_parcel.shard, queue, ready_at, greatest(p_now, ready_at - interval '150 seconds'), held, target_id,
        case when held is null then coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)) end, p_parcel.priority, p_parcel.team_id, p_parcel.owed,
        p_parcel.alone,
        p_parcel.made_at, occurrences, schedule_ids, kinds, ns
      from packed
    ), moved as (
      update carillon.jobs j set parcel_id = p.id, ready_at = p.ready_at
      from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      -- Except a job that a claim for its whole group has just taken along.
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
    )
    select p.id, p.queue from packed p where p.ready_at <= p_now order by p.id;
end $$;

-- Sets aside a parcel whose claim has failed, in the quarantine, as lib/quarantine/quarantine.ts sets rows
-- aside. A function, because workers have no right to the quarantine itself. The entry names the schedule if
-- one job is left in the parcel, whatever its lists say. The next try comes after a minute, then after 2, 4 …
-- 64 minutes.
-- Locks: the entry's row.
-- Returns: the entry; no row if the parcel is not to be claimed any more, for example because another worker
-- has claimed it.
-- Called by: setClaimAside in lib/parcel/claims-aside.ts, for a parcel that cannot be split.
create or replace function carillon.set_claim_aside(p_parcel bigint, p_reason text)
  returns table (item text, schedule_id bigint, reason text, tries int, next_at timestamptz)
  language sql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.quarantine as q (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
    select 'claim', p.id::text, o.schedule_id, left(p_reason, 2000), c.now, c.now, 1, c.now + interval '1 minute'
    from (select carillon.clock() as now) c cross join carillon.parcels p cross join lateral (
      select case count(*) when 1 then min(j.schedule_id) end as schedule_id
      from unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id) o
    where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= c.now
    on conflict (consumer, item) do update
    set schedule_id = excluded.schedule_id, reason = excluded.reason, last_at = excluded.last_at, tries = least(greatest(q.tries, 0), 1000000000) + 1,
      next_at = excluded.last_at + interval '1 minute' * power(2, least(greatest(q.tries, 0), 6))
    returning q.item, q.schedule_id, q.reason, q.tries, q.next_at
  $$;

-- Moves the jobs of a claimed parcel out of it whose schedule has no row of its version in carillon.schedule_versions, as a restore of single tables
-- leaves it, and sets them aside under `claim`: the tick sends a message for each retry. Jobs of one schedule share a parcel and an entry, of 250 jobs
-- at most: otherwise a schedule that is due each minute would have an entry for each job. The new parcel has no target, so it takes no place there and
-- is filled into no other parcel until its claim finds the version. It keeps the tries of the entry of the parcel that its jobs leave.
-- Locks: the entry of the parcel and a parcel that takes more jobs, both with skip locked; then the jobs. The caller has the claimed parcel.
-- Returns: the entries that are new or were tried again.
-- Called by: carillon.claim_parcel, where it found fewer jobs than the parcel lists.
create or replace function carillon.set_versionless_aside(p_parcel carillon.parcels, p_now timestamptz)
  returns table (item text, schedule_id bigint, reason text, tries int, next_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_own record;
  v_id bigint;
  v_first_at timestamptz;
  v_tries int;
begin
  for v_own in
    select s.id, format('The stored version %s has no row in carillon.schedule_versions.', s.spec_version) as reason,
      array_agg(j.occurrence order by j.occurrence, j.kind, j.n) as occurrences, array_agg(j.kind order by j.occurrence, j.kind, j.n) as kinds,
      array_agg(j.n order by j.occurrence, j.kind, j.n) as ns, array_agg(s.id) as schedule_ids
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.parcel_id = p_parcel.id and j.state = 'waiting'
      offset 0) j
    cross join lateral (select s.* from carillon.schedules s where s.id = j.schedule_id offset 0) s
    where coalesce(s.deleted_at, 'infinity') = 'infinity'
      and not exists (select from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version)
    group by s.id, s.spec_version
  loop
    if v_tries is null then
      -- An entry that another transaction has locked stays until the next tick, which deletes it because its parcel is gone.
      delete from carillon.quarantine q where q.ctid = (
        select o.ctid from carillon.quarantine o where o.consumer = 'claim' and o.item = p_parcel.id::text for update skip locked)
      returning q.first_at, q.tries into v_first_at, v_tries;
      v_tries := least(greatest(coalesce(v_tries, 0), 0), 1000000000) + 1;
    end if;
    v_id := null;
    select p.id into v_id
    from carillon.quarantine q join carillon.parcels p on p.id = case when q.item ~ '^[0-9]{1,18}$' then q.item::bigint end
    where q.consumer = 'claim' and q.schedule_id = v_own.id and q.reason = v_own.reason and p.id <> p_parcel.id and p.shard = p_parcel.shard
      and p.queue = p_parcel.queue and p.lease_until is null and p.lane is null and p.target_id is null and p.priority is not distinct from p_parcel.priority
      and coalesce(p.owed, false) = coalesce(p_parcel.owed, false) and p.alone is not true and p_parcel.alone is not true
      and p.kinds is not null and v_own.id = all (p.schedule_ids) and cardinality(p.occurrences) + cardinality(v_own.occurrences) <= 250
    limit 1 for update of p skip locked;
    if v_id is not null then
      update carillon.parcels p set occurrences = p.occurrences || v_own.occurrences, schedule_ids = p.schedule_ids || v_own.schedule_ids,
        kinds = p.kinds || v_own.kinds, ns = p.ns || v_own.ns
      where p.id = v_id;
      -- Two claims at once do not see each other's parcel: then there are two entries, until the first of them is tried again.
      if v_tries > 1 then
        return query
          update carillon.quarantine q set first_at = least(q.first_at, v_first_at), last_at = p_now, tries = greatest(q.tries, v_tries),
            next_at = greatest(q.next_at, p_now + interval '1 minute' * power(2, least(v_tries - 1, 6)))
          where q.consumer = 'claim' and q.item = v_id::text
          returning q.item, q.schedule_id, q.reason, q.tries, q.next_at;
      end if;
    else
      v_id := nextval('carillon.parcels_id_seq');
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, priority, team_id, owed, alone, made_at, sent_at, occurrences, schedule_ids, kinds,
        ns)
      values (v_id, p_parcel.shard, p_parcel.queue, p_now, p_now + interval '1 minute', p_parcel.priority, p_parcel.team_id, p_parcel.owed, p_parcel.alone,
        p_parcel.made_at, p_parcel.sent_at, v_own.occurrences, v_own.schedule_ids, v_own.kinds, v_own.ns);
      return query
        insert into carillon.quarantine (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
        values ('claim', v_id::text, v_own.id, v_own.reason, coalesce(v_first_at, p_now), p_now, v_tries,
          p_now + interval '1 minute' * power(2, least(v_tries - 1, 6)))
        returning item, schedule_id, reason, tries, next_at;
    end if;
    update carillon.jobs j set parcel_id = v_id, ready_at = p_now
    from unnest(v_own.occurrences, v_own.kinds, v_own.ns) k (occurrence, kind, n)
    where j.occurrence = k.occurrence and j.schedule_id = v_own.id and j.kind = k.kind and j.n = k.n and j.state = 'waiting' and j.parcel_id = p_parcel.id;
  end loop;
end $$;

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

-- Settles those of these parcels whose fence is the caller's and whose jobs have all succeeded, in one
-- statement. Left to carillon.settle_parcel are fast parcels of a limited target, and those with lanes, of
-- the backlog or of pulses. p_started_ms and p_ended_ms say for each parcel how many milliseconds ago the target
-- of its jobs began and ended; null: it began at the claim, and ended now.
-- Free places are not given away here: the target would be locked until the disk has the whole commit. The
-- caller gives them away with carillon.leave_places.
-- Locks: the parcels by id; their jobs; then the targets at which no parcel waits (class 6), shared and
-- ascending.
-- Returns: one row with `settled` for each settled parcel, then one row with `left_target` for each target at
-- which a parcel may wait for a place that is free now, also another target of the same team
-- (carillon.team_targets).
-- Called by: settleAll in lib/parcel/settle-together.ts.
create or replace function carillon.settle_parcels(p_parcels bigint[], p_fences int[], p_notify text[], p_started_ms int[] default null,
    p_ended_ms int[] default null)
  returns table (settled bigint, left_target int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_gone carillon.parcels[];
  v_claim record;
  v_left int;
begin
  with locked as materialized (
    select p.id from unnest(p_parcels, p_fences) m (id, fence) join carillon.parcels p on p.id = m.id and p.fence = m.fence
    where (p.target_id is null or p.queue = 'slow') and p.laned is not true and p.owed is not true and p.pulse_at is null
    order by p.id for update of p
  ), gone as (
    delete from carillon.parcels p using locked l where p.id = l.id returning p
  )
  select array_agg(g.p) into v_gone from gone g;
  for v_claim in
    select c.claimed_at, o.target_ms, o.ended_at, array_agg(distinct c.id) as ids, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from unnest(v_gone) c
    join unnest(p_parcels, p_started_ms, p_ended_ms) t (id, started_ms, ended_ms) on t.id = c.id
    cross join lateral carillon.own_times(c.claimed_at, v_now, v_now, t.started_ms, t.ended_ms) o
    cross join lateral unnest(c.occurrences, c.schedule_ids) k (occurrence, schedule_id)
    group by c.claimed_at, o.target_ms, o.ended_at
  loop
    perform carillon.write_successes(v_claim.ids, v_claim.claimed_at, false, v_claim.occurrences, v_claim.schedule_ids, v_now, p_notify,
      v_claim.target_ms, v_claim.ended_at);
  end loop;
  perform carillon.note_times(c.id, c.claimed_at, c.made_at, c.sent_at, c.waited_at, v_now, c.target_id, c.queue, c.shard, c.occurrences)
  from unnest(v_gone) c;
  insert into carillon.target_work (target_id, jobs, ms)
  select c.target_id, sum(cardinality(c.occurrences)),
    sum(greatest(0, extract(epoch from v_now - c.claimed_at)) * 1000 * carillon.places_of(c, cardinality(c.occurrences)))
  from unnest(v_gone) c where c.queue = 'slow' and c.target_id is not null group by c.target_id;
  return query select c.id, null::int from unnest(v_gone) c;
  for v_left in select distinct c.target_id from unnest(v_gone) c where c.target_id is not null and c.slots is not null order by 1 loop
    if not carillon.nobody_waits(v_left) then return query select null::bigint, v_left; end if;
  end loop;
  return query select null::bigint, t from (select distinct on (c.team_id) c from unnest(v_gone) c where c.team_id is not null) g (c)
    cross join lateral carillon.team_targets(g.c, v_now) t;
end $$;

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

-- The most jobs of a slow parcel that a worker has under way at once. It must equal sideBySideMax in
-- lib/parcel/parcel-queue.ts.
-- Locks: none.
-- Returns: the number.
-- Called by: carillon.due_turns, carillon.enter_target, carillon.grant_turns, carillon.jobs_a_turn, carillon.parcel_jobs,
-- carillon.places_of.
create or replace function carillon.side_by_side() returns int language sql immutable parallel safe as $$ select 10 $$;

-- Leaves a parcel its first p_keep jobs. The others wait at its target, with its turn, in new parcels of
-- p_size jobs.
-- Locks: the jobs, then the parcel's row. The caller holds that row already, and the target's lock (class 6).
-- Returns: nothing.
-- Called by: carillon.enter_target, for a parcel that is larger than the limits or the cost of the target
-- allow.
create or replace function carillon.split_parcel(p_parcel carillon.parcels, p_keep int, p_size int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  with cut as materialized (
    select nextval('carillon.parcels_id_seq') as id, f.at + 1 as first, f.at + p_size as last
    from (select at from generate_series(p_keep, cardinality(p_parcel.occurrences) - 1, p_size) at order by at) f
  ), made as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, team_id, owed, made_at, sent_at, waited_at, occurrences,
      schedule_ids, kinds, ns)
    select c.id, p_parcel.shard, p_parcel.queue, 'infinity', 'infinity', p_parcel.target_id, 'waits',
      coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)), p_parcel.priority, p_parcel.team_id, p_parcel.owed,
      p_parcel.made_at, p_parcel.sent_at, coalesce(p_parcel.waited_at, carillon.clock()), p_parcel.occurrences[c.first : c.last], p_parcel.schedule_ids[c.first : c.last], p_parcel.kinds[c.first : c.last], p_parcel.ns[c.first : c.last]
    from cut c
  )
  update carillon.jobs j set parcel_id = c.id
  from cut c cross join lateral unnest(p_parcel.occurrences[c.first : c.last], p_parcel.schedule_ids[c.first : c.last],
    p_parcel.kinds[c.first : c.last], p_parcel.ns[c.first : c.last]) k (occurrence, schedule_id, kind, n)
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = p_parcel.id;

  update carillon.parcels p set occurrences = p.occurrences[1 : p_keep], schedule_ids = p.schedule_ids[1 : p_keep],
    kinds = p.kinds[1 : p_keep], ns = p.ns[1 : p_keep]
  where p.id = p_parcel.id;
end $$;

-- Spreads new parcels of a target with a rate, which were not sent yet, over the time that their jobs will
-- take, so that each comes to a worker when it may start. Parcels of normal and low priority go behind those
-- that were spread before. Parcels of high priority pass them, and go only behind the last start that a claim
-- was granted (targets.next_at). A parcel of one team that would start later than carillon.team_ahead allows waits for its
-- turn instead, so that parcels of other teams that come later are not behind all of them. Parcels that are not spread keep to the rate too, at the price of another
-- message: the claim sends them back.
-- Locks: the target (class 6) and its row, then the parcels.
-- Returns: the parcels with their new ready_at, to be sent; not those that wait for their turn.
-- Called by: spreadParcels in lib/limit/target-limits.ts, by the tick after all shards.
create or replace function carillon.spread_parcels(p_target int, p_parcels bigint[])
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_target carillon.targets;
  v_now timestamptz;
begin
  perform carillon.lock_target(p_target);
  v_now := carillon.clock();
  select t.* into v_target from carillon.targets t where t.id = p_target;
  return query
    with fresh as materialized (
      select p.id, p.ready_at, p.team_id, coalesce(p.priority, 0) as priority, cardinality(p.occurrences) * v_target.rate_ms::float8 / v_target.rate_count as took_ms
      from carillon.parcels p where p.id = any(p_parcels) and p.target_id = p_target and p.lease_until is null and p.turn is null and p.offers = 0
    ), summed as (
      select f.*, coalesce(sum(f.took_ms) over place, 0) as ahead_ms from fresh f
      window place as (partition by f.priority < 0 order by carillon.turn_place(f.ready_at, f.priority::smallint), f.id
        rows between unbounded preceding and 1 preceding)
    ), spread as materialized (
      -- Each starts when it is ready, or when all parcels before it have had their time, counted from the
      -- last of them that did not wait for others.
      select l.*, l.team_id is not null and l.start_at > greatest(l.ready_at, v_now) + carillon.team_ahead() as waits from (
        select s.*, s.ahead_ms * interval '1 millisecond' + max(greatest(s.ready_at, v_now,
          case when s.priority < 0 then v_target.next_at + v_target.slipped_ms * interval '1 millisecond' else v_target.spread_to end)
            - s.ahead_ms * interval '1 millisecond') over (partition by s.priority < 0 order by carillon.turn_place(s.ready_at, s.priority::smallint), s.id) as start_at
        from summed s) l
    ), waiting as (
      update carillon.parcels p set turn = 'waits', turn_at = carillon.turn_place(s.ready_at, p.priority), waited_at = s.ready_at, ready_at = 'infinity',
        offer_at = 'infinity'
      from spread s where p.id = s.id and s.waits
    ), noted as (
      update carillon.targets t set spread_to = greatest(t.spread_to, l.until)
      from (select max(s.start_at + s.took_ms * interval '1 millisecond') as until from spread s where s.priority >= 0 and not s.waits) l
      where t.id = p_target and l.until is not null
    )
    update carillon.parcels p set ready_at = coalesce(s.start_at, s.ready_at), turn_at = carillon.turn_place(s.ready_at, p.priority),
      waited_at = case when s.start_at > s.ready_at then s.ready_at end,
      offer_at = greatest(v_now + interval '20 seconds', coalesce(s.start_at, s.ready_at) - interval '150 seconds')
    from spread s where p.id = s.id and not s.waits
    returning p.id, p.queue, p.ready_at;
end $$;

-- Tells in which version a worker that died has tried a job, as far as can be told: in the version of the
-- settings in force, or in the version in which it was planned if that is greater. A recheck that an edit has
-- superseded stays in its own version.
-- Locks: none.
-- Returns: the version.
-- Called by: carillon.end_lease, carillon.end_lease_of_some.
create or replace function carillon.version_tried(p_job carillon.jobs, p_schedule carillon.schedules) returns int
  language sql immutable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_job.kind = 'again' and coalesce(p_schedule.fresh_version, 1) > p_job.version then p_job.version
      else greatest(p_job.version, p_schedule.spec_version) end
  $$;

-- Writes the outcomes of those of these jobs that are still in the parcel, with their attempts, tallies,
-- events for the bus (p_notify) and wanted holds. The parcel itself, its place at the target and its lanes
-- are left to the caller.
-- Outcomes: `succeeded`; `again` (succeeded, and a recheck at p_at); `retry` (at p_at, or after p_retry_ms);
-- `dead`; `cancelled`; `crashed` (a retry at once, noted as a crash); `back` (it never started, and no
-- attempt is counted). A job that was asked to be cancelled is cancelled instead of tried again.
-- Jobs that are to be tried again go into new parcels, those of one shard and second together, or with
-- p_alone each into its own. p_started_ms and p_ended_ms say how many milliseconds before p_told_at the target of
-- each job began and ended; null: not known, and it ended now. A backoff counts from that end. A group handler
-- may have taken jobs of other shards along, so each written row gets the shard of its own job. A failed attempt
-- and a dead job get their error group (carillon.note_errors).
-- Locks: the jobs, and rows of failure_runs. The caller holds the parcel's row and, if an outcome is `again`,
-- the gates of the schedules shared.
-- Returns: the new parcels, to be sent: retries, jobs handed back, rechecks.
-- Called by: carillon.settle_parcel, carillon.settle_some, carillon.settle_job, carillon.end_lease,
-- carillon.end_lease_of_some.
create or replace function carillon.write_outcomes(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[], p_retry_ms bigint[], p_errors text[],
    p_classes text[], p_stacks text[], p_reasons text[], p_holds text[], p_versions int[], p_notify text[], p_alone boolean, p_started_ms int[] default null,
    p_ended_ms int[] default null, p_told_at timestamptz default null)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_groups text[];
  v_again record;
begin
  if p_outcomes && array['retry', 'crashed', 'dead'] then
    v_groups := carillon.note_errors(p_occurrences, p_schedule_ids, p_outcomes, p_errors, p_classes);
  end if;
  -- Before they are written: a settle that is repeated because its answer was lost makes no second recheck.
  if 'again' = any(p_outcomes) then
    select array_agg(r.occurrence) as occurrences, array_agg(r.schedule_id) as schedule_ids, array_agg(r.kind) as kinds, array_agg(r.n) as ns,
      array_agg(r.at) as ats into v_again
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at) r (occurrence, schedule_id, kind, n, outcome, at)
    join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
    where r.outcome = 'again';
  end if;
  return query
    with results as materialized (
      select r.occurrence, r.schedule_id, r.kind, r.n, r.error, r.class, r.stack, r.reason, r.hold, r.version, r.error_group, s.shard, s.team_id, s.hold_after,
        j.attempt + case when r.outcome = 'back' then 0 else 1 end as attempt,
        case when j.started_at is null and r.outcome <> 'back' and p_parcel.owed is not true then p_parcel.claimed_at - j.due_at end as late,
        case when j.cancel_asked and r.outcome in ('retry', 'crashed', 'back') then 'cancelled' when r.outcome = 'again' then 'succeeded'
          when r.outcome in ('crashed', 'back') then 'retry' else r.outcome end as becomes,
        r.outcome, c.crashed, case when c.crashed then least(p_parcel.lease_until, p_now) else o.ended_at end as ended_at, o.target_ms,
        greatest(p_now, case when r.outcome = 'retry' then coalesce(r.at, o.ended_at + r.retry_ms * interval '1 millisecond') end) as again_at,
        -- Edited or deleted since: the job gets no recheck, and a dead one counts for no hold.
        s.deleted_at is not null or coalesce(s.fresh_version, 1) > r.version as outdated,
        case when p_alone then row_number() over (order by r.occurrence, r.schedule_id, r.kind, r.n) else 0 end as seat
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors, p_classes, p_stacks, p_reasons, p_holds, p_versions,
          p_started_ms, p_ended_ms, v_groups)
        r (occurrence, schedule_id, kind, n, outcome, at, retry_ms, error, class, stack, reason, hold, version, started_ms, ended_ms, error_group)
      cross join lateral carillon.own_times(p_parcel.claimed_at, coalesce(p_told_at, p_now), p_now, r.started_ms, r.ended_ms) o
      -- With p_alone no worker has settled the job: its lease has ended.
      cross join lateral (select r.outcome = 'crashed' or (p_alone and r.outcome = 'dead') as crashed) c
      join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
      join carillon.schedules s on s.id = r.schedule_id
    ), packed as materialized (
      select r.shard, r.outcome = 'back' as back, date_bin('1 s', r.again_at, 'epoch') as second, r.seat, max(r.again_at) as ready_at,
        nextval('carillon.parcels_id_seq') as id, carillon.one_team(array_agg(r.team_id)) as team_id,
        array_agg(r.occurrence order by r.occurrence, r.schedule_id, r.kind, r.n) as occurrences,
        array_agg(r.schedule_id order by r.occurrence, r.schedule_id, r.kind, r.n) as schedule_ids,
        array_agg(r.kind order by r.occurrence, r.schedule_id, r.kind, r.n) as kinds,
        array_agg(r.n order by r.occurrence, r.schedule_id, r.kind, r.n) as ns
      from results r where r.becomes = 'retry' group by 1, 2, 3, 4
    ), updated as (
      update carillon.jobs j set
        state = case r.becomes when 'retry' then 'waiting'::carillon.job_state else r.becomes::carillon.job_state end,
        attempt = r.attempt,
        parcel_id = coalesce(p.id, j.parcel_id),
        ready_at = p.ready_at,
        version = case when r.outcome = 'back' then j.version else r.version end,
        started_at = case when r.outcome = 'back' then j.started_at else coalesce(j.started_at, p_parcel.claimed_at) end,
        target_ms = case when r.outcome = 'back' or j.started_at is not null then j.target_ms else r.target_ms end,
        finished_at = case when r.becomes <> 'retry' then r.ended_at end,
        reason = case when r.becomes = 'dead' then coalesce(r.reason, 'attempts') when r.becomes = 'cancelled' then 'requested'
          when r.outcome = 'again' and r.outdated then 'superseded' else j.reason end,
        error = coalesce(r.error, case when r.outcome in ('back', 'cancelled') then j.error end),
        cancel_asked = null
      from results r left join packed p
        on p.shard = r.shard and p.back = (r.outcome = 'back') and p.second = date_bin('1 s', r.again_at, 'epoch') and p.seat = r.seat and r.becomes = 'retry'
      where j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
    ), counted as (
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, stack, error_group, shard,
        parcel_id, target_ms)
      select r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_parcel.claimed_at, r.ended_at,
        case when r.crashed then 'crashed' when r.outcome = 'cancelled' then 'cancelled' when r.becomes = 'succeeded' then 'succeeded' else 'failed' end,
        r.error, r.class, r.stack, r.error_group, r.shard, p_parcel.id, r.target_ms
      from results r where r.outcome <> 'back' and (r.becomes <> 'succeeded' or r.attempt > 1)
    ), died as (
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, reason, error_group, shard, team_id)
      select r.occurrence, r.schedule_id, r.kind, r.n, p_now, coalesce(r.reason, 'attempts'), r.error_group, r.shard, coalesce(r.team_id, 0)
      from results r where r.becomes = 'dead'
      on conflict do nothing
    ), tallied as (
      insert into carillon.tallies (at, succeeded, failed, dead, late_buckets, late_jobs)
      select p_now, sum(t.succeeded), sum(t.failed), sum(t.dead), array_agg(t.bucket) filter (where t.bucket is not null),
        array_agg(t.late) filter (where t.bucket is not null)
      from (
        select carillon.lateness_bucket(r.late) as bucket, count(*) filter (where r.becomes = 'succeeded') as succeeded,
          count(*) filter (where r.outcome in ('retry', 'crashed', 'dead')) as failed, count(*) filter (where r.becomes = 'dead') as dead,
          count(r.late)::int as late
        from results r group by 1
      ) t having count(t.bucket) > 0 or sum(t.succeeded) > 0 or sum(t.failed) > 0
    ), told as (
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
      select e.event, r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_now, p_now + interval '30 seconds',
        case when e.event = 'dead' then jsonb_build_object('reason', coalesce(r.reason, 'attempts')) end
      from results r cross join unnest(p_notify) e (event)
      where case e.event when 'failed' then r.outcome in ('retry', 'crashed', 'dead') when 'succeeded' then r.becomes = 'succeeded'
        when 'dead' then r.becomes = 'dead' end
    ), dead_runs as (
      select r.schedule_id, r.shard, max(r.version) as version, max(r.hold_after) as hold_after, count(*)::int as dead
      from results r where r.becomes = 'dead' and r.hold_after is not null and not r.outdated group by r.schedule_id, r.shard
    ), runs as (
      insert into carillon.failure_runs (schedule_id, failures, shard) select d.schedule_id, d.dead, d.shard from dead_runs d order by d.schedule_id
      on conflict (schedule_id) do update set failures = failure_runs.failures + excluded.failures
      returning schedule_id, failures
    ), broken as (
      delete from carillon.failure_runs f using results r
      where f.schedule_id = r.schedule_id and r.becomes = 'succeeded' and r.hold_after is not null
        and not exists (select from dead_runs d where d.schedule_id = r.schedule_id)
    ), unwanted as (
      insert into carillon.wanted_holds (schedule_id, version, at, reason, shard)
      select r.schedule_id, max(r.version), p_now, min(r.hold), r.shard from results r where r.hold is not null group by r.schedule_id, r.shard
      union all
      select d.schedule_id, d.version, p_now, f.failures || ' jobs in a row are dead.', d.shard
      from dead_runs d join runs f on f.schedule_id = d.schedule_id where f.failures >= d.hold_after
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, team_id, owed, alone, made_at, occurrences,
      schedule_ids, kinds, ns)
    select p.id, p.shard, p_parcel.queue, p.ready_at, greatest(p_now + interval '20 seconds', p.ready_at - interval '150 seconds'),
      -- A job that never started keeps its turn at the target.
      p_parcel.target_id, case when p.back then p_parcel.turn_at end, p_parcel.priority, p.team_id, p_parcel.owed,
      case when p.back and (p_alone or p_parcel.alone) then true end, case when p.back then p_parcel.made_at else p_now end, p.occurrences,
      p.schedule_ids, p.kinds, p.ns
    from packed p
    returning parcels.id, parcels.queue, parcels.ready_at;

  if 'again' = any(p_outcomes) then
    return query select * from carillon.make_rechecks(p_parcel, p_now, v_again.occurrences, v_again.schedule_ids, v_again.kinds, v_again.ns, v_again.ats);
  end if;
end $$;

-- Writes parcels and their waiting jobs as they are: fails if one of them cannot be written, and changes
-- nothing. So the sweep finds out which of the parcels that wait at a target keep its turns from being given,
-- and whether a parcel that was set aside can be written again.
-- Locks: the parcels by id with skip locked, as when turns are given; then their jobs.
-- Returns: nothing.
-- Called by: writeParcels in lib/parcel/sweep-turns.ts.
create or replace function carillon.write_parcels(p_ids bigint[]) returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  with locked as materialized (
    select p.id from carillon.parcels p where p.id = any(p_ids) order by p.id for update skip locked
  ), written as (
    update carillon.parcels p set offers = p.offers from locked l where p.id = l.id
    returning p.id, p.occurrences, p.schedule_ids, p.kinds, p.ns
  )
  update carillon.jobs j set parcel_id = w.id
  from written w cross join lateral unnest(w.occurrences, w.schedule_ids, w.kinds, w.ns) k (occurrence, schedule_id, kind, n)
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = w.id;
end $$;

-- Writes all jobs of these parcels, which were claimed at one moment, as succeeded in the versions in which
-- they were planned, with attempts, tallies and events for the bus (p_notify). Their target
-- began p_target_ms after the claim (null: at once) and ended at p_ended_at (null: now). p_owed: they are of the backlog, and
-- their lateness is not counted.
-- Locks: the jobs, and rows of failure_runs. The caller has deleted the parcels.
-- Returns: nothing.
-- Called by: carillon.settle_parcel, if no outcomes are given; carillon.settle_parcels.
create or replace function carillon.write_successes(p_parcels bigint[], p_claimed_at timestamptz, p_owed boolean, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_now timestamptz, p_notify text[], p_target_ms int default null, p_ended_at timestamptz default null)
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_from timestamptz;
  v_to timestamptz;
begin
  select min(o), max(o) into v_from, v_to from unnest(p_occurrences) o;
  with updated as (
    update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, ready_at = null, error = null,
      started_at = coalesce(j.started_at, p_claimed_at), finished_at = coalesce(p_ended_at, p_now),
      target_ms = case when j.started_at is null then p_target_ms else j.target_ms end
    -- By the two lists, as the claim reads them. The own parcel_id of a job decides.
    where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.state = 'waiting' and j.parcel_id = any(p_parcels)
      and j.occurrence >= v_from and j.occurrence <= v_to
    returning j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, j.due_at, j.shard, j.parcel_id
  ), tallied as (
    -- Most jobs of a parcel are due at the same instant: grouped by instant first, then by the few buckets of
    -- these groups.
    insert into carillon.tallies (at, succeeded, late_buckets, late_jobs)
    select p_now, sum(t.jobs), array_agg(t.bucket) filter (where t.bucket is not null), array_agg(t.jobs) filter (where t.bucket is not null)
    from (
      select case when d.first and p_owed is not true then carillon.lateness_bucket(p_claimed_at - d.due_at) end as bucket, sum(d.jobs)::int as jobs
      from (select u.due_at, u.attempt = 1 as first, count(*) as jobs from updated u group by 1, 2) d group by 1
    ) t having count(*) > 0
  ), told as (
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'succeeded', u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, p_now, p_now + interval '30 seconds'
    from updated u where 'succeeded' = any(p_notify)
  )
  insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, shard, parcel_id, target_ms)
  select u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, p_claimed_at, coalesce(p_ended_at, p_now), 'succeeded', u.shard, u.parcel_id, p_target_ms
  from updated u where u.attempt > 1;
  -- Nearly always there is none.
  if exists (select from carillon.failure_runs) then
    delete from carillon.failure_runs f using unnest(p_schedule_ids) k (schedule_id) where f.schedule_id = k.schedule_id;
  end if;
end $$;

-- Divides a parcel that names no team by the teams of its jobs, at a target where the places of one team are
-- limited: a place of a parcel with jobs of several teams would count for none of them. The parcel keeps the jobs
-- of its first job's team, and gives up its turn, which was counted for no team. The others wait at the target in
-- new parcels, one for each team. A parcel without a job of any team stays as it is.
-- Locks: the jobs, then the parcel's row. The caller holds that row already, and the target's lock (class 6).
-- Returns: the parcel as it is now.
-- Called by: carillon.enter_target.
create or replace function carillon.divide_parcel(p_parcel carillon.parcels) returns carillon.parcels
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_teams int[] := array(
    select coalesce((select s.team_id from carillon.schedules s where s.id = k.id), 0)
    from unnest(p_parcel.schedule_ids) with ordinality k (id, place) order by k.place);
  v_parcel carillon.parcels;
begin
  if 0 = all (v_teams) then return p_parcel; end if;
  with listed as materialized (
    select k.* from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns, v_teams) with ordinality
      k (occurrence, schedule_id, kind, n, team, place)
  ), packed as materialized (
    select case when g.first = 1 then p_parcel.id else nextval('carillon.parcels_id_seq') end as id, g.* from (
      select l.team, min(l.place) as first, array_agg(l.occurrence order by l.place) as occurrences, array_agg(l.schedule_id order by l.place) as schedule_ids,
        case when p_parcel.kinds is not null then array_agg(l.kind order by l.place) end as kinds,
        case when p_parcel.ns is not null then array_agg(l.n order by l.place) end as ns
      from listed l group by l.team order by first) g
  ), made as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, team_id, owed, made_at, sent_at, waited_at, occurrences,
      schedule_ids, kinds, ns)
    select g.id, p_parcel.shard, p_parcel.queue, 'infinity', 'infinity', p_parcel.target_id, 'waits',
      coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)), p_parcel.priority, nullif(g.team, 0), p_parcel.owed,
      p_parcel.made_at, p_parcel.sent_at, coalesce(p_parcel.waited_at, carillon.clock()), g.occurrences, g.schedule_ids, g.kinds, g.ns
    from packed g where g.first > 1
  ), moved as (
    update carillon.jobs j set parcel_id = g.id
    from packed g cross join lateral unnest(g.occurrences, g.schedule_ids, g.kinds, g.ns) k (occurrence, schedule_id, kind, n)
    where g.first > 1 and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
  )
  update carillon.parcels p set team_id = nullif(g.team, 0), turn = null, slots = null, slot_at = null,
    occurrences = g.occurrences, schedule_ids = g.schedule_ids, kinds = g.kinds, ns = g.ns
  from packed g where g.first = 1 and p.id = p_parcel.id
  returning p.* into v_parcel;
  return v_parcel;
end $$;
