-- How pulses beat: which seconds of a shard need a parcel, what a worker reads of one, and what becomes of it.
-- carillon: back to 31

alter table carillon.parcels
  -- Of a parcel of pulses: how often it was worked without coming to its end.
  add column pulse_tries smallint,
  -- Of a parcel of pulses: those up to this interval and schedule are done with.
  add column pulse_every int,
  add column pulse_schedule bigint,
  add constraint parcels_place_of_pulses check ((pulse_every is null) = (pulse_schedule is null)
    and (pulse_every is null or pulse_at is not null) and (pulse_tries is null or pulse_at is not null)) not valid;

alter table carillon.tallies
  -- Pulses that their targets took, and those that were given up.
  add column pulses bigint,
  add column pulses_lost bigint,
  -- Seconds of a shard that were passed over, with whatever pulses they had: nobody has counted those.
  add column pulse_seconds_passed bigint,
  -- How late they went, in the buckets of carillon.lateness_bucket.
  add column pulse_buckets int[],
  add column pulse_counts bigint[];

alter table carillon.minutes
  add column pulses bigint not null default 0,
  add column pulses_lost bigint not null default 0;

-- Apart from that of jobs: a million pulses that went in time would hide a thousand jobs that did not.
create table carillon.minute_pulse_lateness (
  minute timestamptz(3) not null,
  bucket int not null,
  pulses bigint not null,
  primary key (minute, bucket)
);

-- The seconds from p_from to p_to at which a shard has a pulse. Found by steps through the index, from one interval to the next and from one
-- offset to the next; where that takes more than p_looks steps, every second that is left counts as one that has, and so does one whose pulses
-- are mostly held or over: a parcel too many costs less than to be sure.
create function carillon.pulse_seconds(p_shard int, p_from bigint, p_to bigint, p_looks int) returns setof bigint
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_shard smallint := p_shard;
  v_size int := p_to - p_from + 1;
  v_missing int := p_to - p_from + 1;
  v_due boolean[] := array_fill(false, array[greatest(p_to - p_from + 1, 1)::int]);
  v_looks int := 0;
  v_every int := 0;
  v_phase int;
  v_offset int;
  v_last int;
  v_at int;
begin
  if v_size < 1 then return; end if;
  <<intervals>> loop
    select p.every_s into v_every from carillon.pulses p where p.shard = v_shard and p.every_s > v_every order by p.every_s limit 1;
    exit intervals when not found;
    v_looks := v_looks + 1;
    v_phase := p_from % v_every;
    -- Offsets come due from that of p_from on to the interval's last, and then from its first.
    for v_round in 1..2 loop
      v_offset := case v_round when 1 then v_phase else 0 end - 1;
      v_last := case v_round when 1 then least(v_every, v_phase + v_size) else least(v_phase, v_phase + v_size - v_every) end - 1;
      loop
        v_looks := v_looks + 1;
        if v_looks > p_looks then
          v_due := array_fill(true, array[v_size]);
          exit intervals;
        end if;
        select p.offset_s into v_offset from carillon.pulses p
        where p.shard = v_shard and p.every_s = v_every and p.offset_s > v_offset and p.offset_s <= v_last order by p.offset_s limit 1;
        exit when not found;
        v_at := 1 + (v_offset - v_phase + v_every) % v_every;
        while v_at <= v_size loop
          if not v_due[v_at] then
            v_looks := v_looks + 1;
            if (select count(*) filter (where l.live) > 0 or count(*) = 100
              from (select p.starts_s < p_from + v_at and coalesce(p.ends_s >= p_from + v_at, true) as live from carillon.pulses p
                where p.shard = v_shard and p.every_s = v_every and p.offset_s = v_offset order by p.schedule_id limit 100) l) then
              v_due[v_at] := true;
              v_missing := v_missing - 1;
            end if;
          end if;
          v_at := v_at + v_every;
        end loop;
        exit intervals when v_missing = 0;
      end loop;
    end loop;
  end loop;
  return query select p_from + d.at - 1 from unnest(v_due) with ordinality d (due, at) where d.due;
end $$;

-- Makes the parcels of a shard's pulses from where they end now up to p_horizon_ms ahead, and returns those to be sent. What is more than
-- p_missed_ms ago is passed over and told: so many seconds, in a row without an id. The shard's plan lock is taken first: an edit either committed before, and is seen, or sees how far
-- they reach.
create function carillon.make_pulse_parcels(p_shard int, p_horizon_ms int, p_missed_ms int, p_looks int)
  returns table (id bigint, wait_ms float8, passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_shard smallint := p_shard;
  v_now timestamptz;
  v_next bigint;
  v_oldest bigint;
  v_last bigint;
begin
  perform pg_advisory_xact_lock(1, p_shard);
  v_now := carillon.clock();
  select extract(epoch from s.pulsed_to)::bigint + 1 into v_next from carillon.shards s where s.id = v_shard;
  v_oldest := ceil(extract(epoch from v_now - p_missed_ms * interval '1 millisecond'));
  v_last := floor(extract(epoch from v_now + p_horizon_ms * interval '1 millisecond'));
  if v_next > v_last then return; end if;
  if v_next < v_oldest then
    if exists (select from carillon.pulses p where p.shard = v_shard) then
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, reason)
      values (to_timestamp(v_next), to_timestamp(v_oldest - 1), v_now, v_shard, 'missed');
      return query select null::bigint, null::float8, v_oldest - v_next;
    end if;
    v_next := v_oldest;
  end if;
  return query
    insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, occurrences, schedule_ids)
    select v_shard, 'fast', to_timestamp(s.second), greatest(v_now + interval '20 seconds', to_timestamp(s.second) - interval '150 seconds'),
      to_timestamp(s.second), '{}', '{}'
    from carillon.pulse_seconds(p_shard, v_next, v_last, p_looks) s (second)
    on conflict do nothing
    returning parcels.id, greatest(0, extract(epoch from parcels.ready_at - v_now) * 1000)::float8, null::bigint;
  update carillon.shards s set pulsed_to = to_timestamp(v_last) where s.id = v_shard;
end $$;

-- Reads those who beat at a second of a shard, in the order of (interval, schedule) from behind a place on, until they are p_rows or say p_bytes:
-- by some hundreds, of each interval and target how many, the last of them, and their envelopes, one behind the other with U+001F between, which
-- JSON text never holds. p_times: what stands in an envelope between its occurrence and its constant members. A last row without an interval says
-- that there are no more.
create function carillon.read_pulses(p_shard int, p_second bigint, p_targets int[], p_every int, p_schedule bigint, p_times text, p_rows int, p_bytes int)
  returns table (every_s int, target_id int, pulses int, last_schedule bigint, envelopes text)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  -- In the order of the index, whose rows need no sorting; and targets are told apart by a hash, for which they need none either.
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_sort = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint := p_shard;
  v_rows int := p_rows;
  v_bytes bigint := p_bytes;
  v_every int;
  v_from bigint;
  v_beginning constant text := '{"id":"';
  v_between constant text := chr(31) || '{"id":"';
  v_most int;
  v_wanted int;
  v_read int;
  v_size bigint;
  v_group record;
begin
  for v_every in
    with recursive intervals as (
      (select p.every_s from carillon.pulses p where p.shard = v_shard and p.every_s >= p_every order by p.every_s limit 1)
      union all
      select (select p.every_s from carillon.pulses p where p.shard = v_shard and p.every_s > i.every_s order by p.every_s limit 1)
      from intervals i where i.every_s is not null
    )
    select i.every_s from intervals i
    where exists (select from carillon.pulses p where p.shard = v_shard and p.every_s = i.every_s and p.offset_s = p_second % i.every_s)
  loop
    v_from := case when v_every = p_every then p_schedule else 0 end;
    -- The first of an interval may say more than those of the one before.
    v_most := 100;
    loop
      v_wanted := least(v_rows, v_most);
      v_read := 0;
      v_size := 0;
      for v_group in
        select s.target_id, count(*)::int as pulses, max(s.schedule_id) as last_schedule, sum(octet_length(s.rest)) as bytes,
          string_agg(s.schedule_id || '-' || p_second - s.lag_s || p_times || s.rest, v_between) as envelopes
        from (
          select p.target_id, p.schedule_id, p.lag_s, p.rest
          from carillon.pulses p
          where p.shard = v_shard and p.every_s = v_every and p.offset_s = p_second % v_every and p.schedule_id > v_from
            and p.starts_s <= p_second and (p.ends_s is null or p.ends_s > p_second)
            and (p_targets is null or p.target_id = any(p_targets))
          order by p.schedule_id limit v_wanted
        ) s
        group by s.target_id
      loop
        v_read := v_read + v_group.pulses;
        v_size := v_size + v_group.bytes;
        v_from := greatest(v_from, v_group.last_schedule);
        every_s := v_every;
        target_id := v_group.target_id;
        pulses := v_group.pulses;
        last_schedule := v_group.last_schedule;
        envelopes := v_beginning || v_group.envelopes;
        return next;
      end loop;
      v_rows := v_rows - v_read;
      v_bytes := v_bytes - v_size;
      if v_rows <= 0 or v_bytes <= 0 then return; end if;
      exit when v_read < v_wanted;
      -- So few at once that what they say is still at hand when it is put together; and no more than may be said, if they say as much as these.
      v_most := greatest(1, least(250, v_bytes * v_read / v_size));
    end loop;
  end loop;
  return query select null::int, null::int, null::int, null::bigint, null::text;
end $$;

-- So often a parcel of pulses is worked until what its targets did not take is given up.
create function carillon.pulse_tries_max() returns smallint language sql immutable parallel safe as $$ select 6::smallint $$;

-- Writes down how the pulses of a claimed parcel went: how many were taken, and by how many milliseconds late (p_late_ms, p_counts); which targets did not take
-- all of theirs, and from which place on; which never will. A place in p_rest_every and p_rest_schedule: there was no time for those behind it.
-- Returns the parcels that stand for what is left, as settle_parcel does.
create function carillon.settle_pulses(p_parcel bigint, p_fence int, p_pulses bigint, p_late_ms int[], p_counts bigint[],
    p_rest_every int, p_rest_schedule bigint, p_failed int[], p_failed_counts bigint[], p_failed_every int, p_failed_schedule bigint,
    p_refused int[], p_refused_counts bigint[])
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_tries smallint;
  v_again_at timestamptz;
  v_lost bigint;
begin
  delete from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.pulse_at is not null returning p.* into v_parcel;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if p_rest_every is not null then
    return query
      insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_every, pulse_schedule, occurrences, schedule_ids)
      values (v_parcel.shard, v_parcel.queue, v_now, v_now + interval '20 seconds', v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,
        p_rest_every, p_rest_schedule, '{}', '{}')
      returning true, parcels.id, parcels.queue, parcels.ready_at;
  end if;

  v_tries := coalesce(v_parcel.pulse_tries, 0) + 1;
  if cardinality(p_failed) > 0 and v_tries < carillon.pulse_tries_max() then
    -- 5, 10, 20, 40 and 80 seconds.
    v_again_at := v_now + interval '5 seconds' * power(2, v_tries - 1);
    return query
      insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_every, pulse_schedule, occurrences, schedule_ids)
      values (v_parcel.shard, v_parcel.queue, v_again_at, greatest(v_now + interval '20 seconds', v_again_at - interval '150 seconds'),
        v_parcel.pulse_at, p_failed, v_tries, p_failed_every, p_failed_schedule, '{}', '{}')
      returning true, parcels.id, parcels.queue, parcels.ready_at;
    p_failed := null;
  end if;

  insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, count, reason)
  select v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, l.target_id, l.count, l.reason
  from (
    select f.*, 'failed' as reason from unnest(p_failed, case when p_failed is not null then p_failed_counts end) f (target_id, count)
    union all
    select r.*, 'refused' from unnest(p_refused, p_refused_counts) r (target_id, count)
  ) l;
  select sum(c) into v_lost from unnest(case when p_failed is not null then p_failed_counts end || p_refused_counts) c;
  if p_pulses > 0 or v_lost > 0 then
    insert into carillon.tallies (at, pulses, pulses_lost, pulse_buckets, pulse_counts)
    values (v_now, p_pulses, v_lost,
      array(select carillon.lateness_bucket(l.ms * interval '1 millisecond') from unnest(p_late_ms) with ordinality l (ms, place) order by l.place), p_counts);
  end if;
end $$;

-- The jobs of parcels that may start as they are: no lane to pass, no deadline behind them, nothing that has come between. What carillon.startable says,
-- list by list: jobs, schedules and versions are read along their indexes, each leaf once and in order, and joined in memory; looked up one by one, they
-- cost half as much again. Becomes a part of the statement that asks, and is joined as it should be only where carillon.join_lists says so before.
create function carillon.plain_jobs(p_parcels bigint[], p_occurrences timestamptz[], p_schedule_ids bigint[], p_from timestamptz, p_to timestamptz,
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
    -- What few jobs have travels in one column, which is null for the others.
    case when j.checks is not null or j.forgiven is not null or v.body ? 'retry' or v.body ? 'timeout' then
      jsonb_build_object('checks', j.checks, 'forgiven', j.forgiven, 'retry', v.body -> 'retry', 'timeout', v.body -> 'timeout') end
  from (
    select j.* from carillon.jobs j
    -- The two lists may pair an occurrence with another parcel's schedule, and the old parcel of a job that was planned again may still list the
    -- job. So the job's own parcel_id decides.
    where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.parcel_id = any(p_parcels) and j.state = 'waiting'
      -- Lists leave no day out; the first and the last do.
      and j.occurrence >= p_from and j.occurrence <= p_to
    offset 0
  ) j
  join s on s.id = j.schedule_id
  join (
    -- A schedule may have had thousands of versions. The one that most are at is read by the list, and those of the others one by one: by two lists, each
    -- would be read at every version that any other is at.
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

-- Whether what is planned next joins by hash or goes through what it joins one by one. A function that keeps its plans is planned under its own settings,
-- and these say otherwise for one statement of it.
create function carillon.join_lists(p_together boolean) returns void language sql
  as $$
    select set_config('enable_hashjoin', case when p_together then 'on' else 'off' end, true),
      set_config('enable_nestloop', case when p_together then 'off' else 'on' end, true)
  $$;

revoke execute on function carillon.plain_jobs(bigint[], timestamptz[], bigint[], timestamptz, timestamptz, carillon.queue_class, int, int[], timestamptz),
  carillon.join_lists(boolean) from public;

-- As in 0018, and a parcel of pulses comes as one row (`pulses`). It is passed over, and that is told, where nobody came for it within two minutes: what
-- has piled up behind workers that did not run is of no use to anybody, and would come all at once.
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
      -- Whoever waits has its hands free: it is told of one that stands ready there.
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
  update carillon.parcels p set fence = p.fence + 1, claimed_at = v_now, lease_until = v_lease_until, offer_at = v_lease_until, held_schedule = null
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
  end if;
  if v_occurrences is not null then
    return query
      select 'freed', null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int,
        null::text, null::text, null::jsonb, null::jsonb, carillon.freed_details(0, f.id, f.queue)
      from carillon.pass_lanes(v_parcel, v_occurrences, v_schedule_ids, v_kinds, v_ns) f;
    -- Who is in the parcel now has passed, at the moment that is now the parcel's; a lane may have brought more with it.
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

-- As in 0030, and a parcel of pulses is there to be claimed again as it was, so often; all of it, since nobody knows how far its worker came.
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
  v_error text := 'The worker stopped without an answer: its lease ended.';
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.lease_until < v_now for update;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if v_parcel.pulse_at is not null then
    if coalesce(v_parcel.pulse_tries, 0) + 1 < carillon.pulse_tries_max() then
      update carillon.parcels p set fence = p.fence + 1, claimed_at = null, lease_until = null, ready_at = v_now, offers = 1,
        offer_at = v_now + interval '1 minute', pulse_tries = coalesce(p.pulse_tries, 0) + 1
      where p.id = p_parcel;
      return query select true, p_parcel, v_parcel.queue, v_now;
    else
      delete from carillon.parcels p where p.id = p_parcel;
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, reason)
      select v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, t.id, 'crashed' from unnest(coalesce(v_parcel.pulse_targets, array[null::int])) t (id);
    end if;
    return;
  end if;

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

  if v_count = 1 and not v_alone.last_try and v_alone.cancel_asked is not true then
    update carillon.parcels p set fence = p.fence + 1, claimed_at = null, lease_until = null, slots = null, turn = null, laned = null, alone = true,
      ready_at = v_now, offers = 1, offer_at = v_now + interval '1 minute', shard = v_alone.shard,
      occurrences = array[v_alone.occurrence], schedule_ids = array[v_alone.schedule_id], kinds = array[v_alone.kind], ns = array[v_alone.n]
    where p.id = p_parcel;
    update carillon.jobs j set attempt = v_alone.attempt, started_at = coalesce(j.started_at, v_parcel.claimed_at), error = v_error,
      ready_at = v_now, version = v_alone.version
    where j.occurrence = v_alone.occurrence and j.schedule_id = v_alone.schedule_id and j.kind = v_alone.kind and j.n = v_alone.n;
    if v_alone.late is not null then
      insert into carillon.tallies (at, late_buckets, late_jobs) values (v_now, array[carillon.lateness_bucket(v_alone.late)], array[1]);
    end if;
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class)
    values (v_alone.occurrence, v_alone.schedule_id, v_alone.kind, v_alone.n, v_alone.attempt, v_parcel.claimed_at, v_parcel.lease_until,
      'crashed', v_error, 'LeaseEnded');
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
          array_agg(case when v_count > 1 then 'back' when v_alone.last_try and v_alone.cancel_asked is not true then 'dead' else 'crashed' end) as outcomes,
          array_agg(null::timestamptz) as ats, array_agg(0::bigint) as retries, array_agg(case when v_count = 1 then v_error end) as errors,
          array_agg(case when v_count = 1 then 'LeaseEnded' end) as classes, array_agg(null::text) as nothing, array_agg(o.version) as versions
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

-- Counted where it is written, whoever writes it: a tick, a claim or a sweep. Rows with a count are of pulses that a settle has tallied.
create function carillon.tally_pulses_passed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, pulse_seconds_passed)
  values (carillon.clock(), extract(epoch from new.to_at - new.from_at)::bigint + 1);
  return null;
end $$;

-- safe: the previous release writes none of these rows
create trigger pulses_passed_tally after insert on carillon.pulses_passed for each row when (new.count is null)
  execute function carillon.tally_pulses_passed();

-- safe: made anew by the next statement of this transaction, and with every column that the previous release reads
drop function carillon.roll_up(int);

-- As in 0030, and the pulses; of what was lost the sums as well.
create function carillon.roll_up(p_max int)
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_schedules int;
begin
  with taken as (
    delete from carillon.schedule_tallies t
    where t.ctid = any (array(select p.ctid from carillon.schedule_tallies p limit p_max for update skip locked))
    returning t.schedules, t.held
  ), added as (
    update carillon.schedule_counts c set schedules = c.schedules + s.schedules, held = c.held + s.held, rolled_up_at = carillon.clock()
    from (select coalesce(sum(t.schedules), 0) as schedules, coalesce(sum(t.held), 0) as held from taken t) s
  )
  select count(*) into v_schedules from taken;
  return query
    with taken as (
      delete from carillon.tallies t
      where t.ctid = any (array(select p.ctid from carillon.tallies p limit p_max for update skip locked))
      returning t.*
    ), counted as (
      insert into carillon.minutes as m (minute, fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost)
      select date_trunc('minute', t.at), coalesce(sum(t.fired), 0), coalesce(sum(t.succeeded), 0), coalesce(sum(t.failed), 0),
        coalesce(sum(t.dead), 0), coalesce(sum(t.cancelled), 0), coalesce(sum(t.skipped), 0), coalesce(sum(t.missed), 0),
        coalesce(sum(t.pulses), 0), coalesce(sum(t.pulses_lost), 0)
      from taken t group by 1 order by 1
      on conflict (minute) do update set fired = m.fired + excluded.fired, succeeded = m.succeeded + excluded.succeeded,
        failed = m.failed + excluded.failed, dead = m.dead + excluded.dead, cancelled = m.cancelled + excluded.cancelled,
        skipped = m.skipped + excluded.skipped, missed = m.missed + excluded.missed, pulses = m.pulses + excluded.pulses,
        pulses_lost = m.pulses_lost + excluded.pulses_lost
    ), placed as (
      insert into carillon.minute_lateness as m (minute, bucket, jobs)
      select date_trunc('minute', t.at), l.bucket, sum(l.jobs) from taken t cross join lateral unnest(t.late_buckets, t.late_jobs) l (bucket, jobs)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set jobs = m.jobs + excluded.jobs
    ), pulses_placed as (
      insert into carillon.minute_pulse_lateness as m (minute, bucket, pulses)
      select date_trunc('minute', t.at), l.bucket, sum(l.pulses) from taken t cross join lateral unnest(t.pulse_buckets, t.pulse_counts) l (bucket, pulses)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set pulses = m.pulses + excluded.pulses
    )
    select greatest(v_schedules, count(*)::int), coalesce(sum(t.fired), 0)::bigint, coalesce(sum(t.succeeded), 0)::bigint,
      coalesce(sum(t.failed), 0)::bigint, coalesce(sum(t.dead), 0)::bigint, coalesce(sum(t.cancelled), 0)::bigint,
      coalesce(sum(t.skipped), 0)::bigint, coalesce(sum(t.missed), 0)::bigint,
      coalesce(sum(t.pulses_lost), 0)::bigint, coalesce(sum(t.pulse_seconds_passed), 0)::bigint
    from taken t;
end $$;

revoke execute on function carillon.roll_up(int), carillon.tally_pulses_passed(), carillon.pulse_seconds(int, bigint, bigint, int), carillon.make_pulse_parcels(int, int, int, int),
  carillon.read_pulses(int, bigint, int[], int, bigint, text, int, int), carillon.pulse_tries_max(),
  carillon.settle_pulses(bigint, int, bigint, int[], bigint[], int, bigint, int[], bigint[], int, bigint, int[], bigint[]) from public;
grant execute on function carillon.roll_up(int), carillon.pulse_seconds(int, bigint, bigint, int),
  carillon.make_pulse_parcels(int, int, int, int) to carillon_tick;
grant execute on function carillon.read_pulses(int, bigint, int[], int, bigint, text, int, int),
  carillon.settle_pulses(bigint, int, bigint, int[], bigint[], int, bigint, int[], bigint[], int, bigint, int[], bigint[]) to carillon_worker;
grant select on carillon.minute_pulse_lateness to carillon_tick, carillon_api, carillon_handler;
grant insert, update, delete on carillon.minute_pulse_lateness to carillon_tick;
grant delete on carillon.pulses_passed to carillon_tick;
