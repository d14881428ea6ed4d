-- carillon: back to 31
-- A job whose schedule has no row of its version is set aside by its claim. Before, no claim found it: it was dropped with its parcel, and waited for ever.

-- Moves the jobs of a claimed parcel whose schedule has no row of its version in carillon.schedule_versions, as a restore of single tables leaves it, out of
-- the parcel, and sets them aside as lib/parcel/claims-aside.ts does: the tick sends a message for the next try. Called by claim_parcel where it found fewer
-- jobs than the parcel lists. Those of one schedule share a parcel and an entry, of 250 jobs at most: a schedule that is due each minute would have an entry
-- for each job. The new parcel has no target, so that it takes no place there and is filled into no other parcel until its claim finds the version. It has
-- the tries of the entry of the parcel that its jobs leave. Returns the entries that are new, or were tried again.
create function carillon.set_versionless_aside(p_parcel carillon.parcels, p_now timestamptz)
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
      -- An entry that another transaction has locked stays, and goes with the next tick, since its parcel is gone.
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
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, priority, owed, alone, occurrences, schedule_ids, kinds, ns)
      values (v_id, p_parcel.shard, p_parcel.queue, p_now, p_now + interval '1 minute', p_parcel.priority, p_parcel.owed, p_parcel.alone,
        v_own.occurrences, v_own.schedule_ids, v_own.kinds, v_own.ns);
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

revoke execute on function carillon.set_versionless_aside(carillon.parcels, timestamptz) from public;

-- As in 0044. A claim that finds fewer jobs than its parcel lists, and cannot say of each why, looks for jobs without their version.
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
  -- The answer where there is no job: the other columns stay null.
  outcome := 'gone';
  select p.shard, case when p.lease_until is null then p.ready_at end, case p.queue when 'slow' then p.target_id end, p.lease_until
  into v_shard, v_ready_at, v_slow_target, v_leased_until
  from carillon.parcels p where p.id = p_parcel;
  if not found then
    return next;
    return;
  end if;
  -- Most messages come a little before their time: to say so needs no gate, behind which an edit may be at work.
  v_now := carillon.clock();
  -- Nor does it need one to say that somebody has it.
  if v_leased_until >= v_now then
    outcome := 'leased';
    return next;
    return;
  end if;
  if v_ready_at > v_now and v_ready_at < 'infinity' then
    outcome := 'early';
    more := jsonb_build_object('waitMs', ceil(least(extract(epoch from v_ready_at - v_now), 86400) * 1000));
    if v_slow_target is not null then
      -- A worker whose parcel must wait is free: it is told of a parcel that is ready at this target.
      more := more || jsonb_build_object('insteadId', (select r::text from carillon.ready_parcels(v_slow_target, v_now, 1) r));
    end if;
    return next;
    return;
  end if;
  -- The gate, shared: an edit of this shard either committed before this line, and the look below sees it, or waits. (Class 2.)
  perform pg_advisory_xact_lock_shared(2, v_shard);
  v_now := carillon.clock();
  if v_slow_target is not null and v_ready_at <= v_now and carillon.wait_where_full(p_parcel, v_slow_target, p_window, v_now) then
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
    if v_parcel.pulse_tries is null and v_parcel.pulse_every is null and v_parcel.pulse_at < v_now - interval '2 minutes' then
      delete from carillon.parcels p where p.id = p_parcel;
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, reason) values (v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, 'late');
      outcome := 'empty';
    else
      outcome := 'pulses';
      more := jsonb_build_object('fence', v_parcel.fence, 'claimedAt', v_now, 'shard', v_parcel.shard, 'second', extract(epoch from v_parcel.pulse_at)::bigint,
        'targets', v_parcel.pulse_targets, 'every', v_parcel.pulse_every, 'schedule', v_parcel.pulse_schedule::text,
        'lastTry', coalesce(v_parcel.pulse_tries, 0) + 1 >= carillon.pulse_tries_max());
    end if;
    return next;
    return;
  end if;
  v_limited := array(select t.id from carillon.targets t where t.concurrency is not null or t.rate_count is not null);
  if v_parcel.target_id is null and v_parcel.queue = 'slow' then
    -- Made without a look at where its jobs go: it is the first one's, and the others will leave it.
    update carillon.parcels p set target_id = f.target_id
    from (select j.target_id from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      -- As carillon.startable has them, each by its key: with one wanted, the planner may walk through all schedules, or all versions of one, until it meets it.
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
    -- The jobs in the parcel now have passed their lanes, at the moment that the parcel now has; a grouped lane may have brought more jobs in.
    select p.* into v_parcel from carillon.parcels p where p.id = p_parcel;
    v_now := v_parcel.claimed_at;
    return query
      select 'job', j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.planned_version, j.version, j.key, j.group_key, j.target, j.payload,
        case when j.lane is not null or j.checks is not null or j.forgiven is not null or j.body ? 'retry' or j.body ? 'timeout' then
          jsonb_build_object('lane', j.lane, 'checks', j.checks, 'forgiven', j.forgiven, 'retry', j.body -> 'retry', 'timeout', j.body -> 'timeout') end
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
    delete from carillon.parcels p where p.id = p_parcel;
    -- A place that was taken just now, where nothing but the share bounds the target, nobody has waited for; and its lock is held shared.
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
