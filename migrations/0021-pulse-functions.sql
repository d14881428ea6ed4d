-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Keeps the rows of pulses in line with the versions of their schedules: makes, changes or deletes a row.
-- Every change of a schedule writes a version, so no way of changing one can forget its row, including code
-- of an older release: a version that it writes asks for no pulse, and its schedule has jobs. For a schedule
-- that is no pulse this costs one look into the index per version.
-- If the cadence goes on unchanged, late beats still go. If the cadence is another one, or the schedule was
-- held, the first beat is after the change, and nothing of the old cadence starts any more. A held pulse has
-- no first beat, or has it at the end of the hold.
-- A target that is marked as unused loses its mark. One without a mark is read without a lock: this transaction
-- ends long before a mark that is set meanwhile counts. If the target is being deleted, this waits for the
-- delete and makes it again, with another number (carillon.reclaim_pulse_targets).
-- Locks: the rows of pulses; targets of pulses that are new or marked, in one order. The edit that writes the
-- versions holds the locks of the schedules.
-- Returns: nothing.
-- Called by: the trigger schedule_versions_pulse, after insert on carillon.schedule_versions, for each
-- statement.
create or replace function carillon.follow_pulses() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  -- One by one (`offset 0`): as a set, the planner would read all pulses to look for one.
  if not exists (select from written w where w.pulse_lag_s is not null) and not exists (
    select from written w cross join lateral (select from carillon.pulses p where p.schedule_id = w.schedule_id offset 0) p) then
    return null;
  end if;

  delete from carillon.pulses p using written w
  where p.schedule_id = w.schedule_id and (w.change = 'deleted' or (w.spec_version = w.version and w.pulse_lag_s is null));

  -- In one order: of two transactions that make the same targets, one waits for the other at the first.
  insert into carillon.pulse_targets as k (target, batch)
  select t.target, (t.target ->> 'batch')::int
  from (select distinct on (md5(w.target::text)) w.target from written w where w.pulse_lag_s is not null) t
  where not exists (select from carillon.pulse_targets u where md5(u.target::text) = md5(t.target::text) and u.unused_at is null)
  order by md5(t.target::text)
  on conflict (md5(target::text)) do update set unused_at = null where k.unused_at is not null;

  insert into carillon.pulses as p (schedule_id, starts_s, ends_s, every_s, offset_s, lag_s, target_id, shard, team_id, rest, may_have_jobs)
  select f.id,
    case
      when f.held and f.held_until is null then null
      when f.held then greatest(f.first_s, f.cut_s + 1, ceil(date_part('epoch', f.held_until))::bigint)
      when o.starts_s <= f.cut_s and coalesce(o.ends_s > f.cut_s, true)
        and (o.every_s, o.offset_s, o.lag_s) = (f.every_s, f.first_at_s % f.every_s, f.lag_s) then greatest(o.starts_s, f.first_s)
      else greatest(f.first_s, f.cut_s + 1)
    end,
    f.ends_s, f.every_s, f.first_at_s % f.every_s, f.lag_s, k.id, f.shard, f.team_id,
    -- JSON leaves two characters as they are that SQS refuses in a message.
    replace(replace('"specversion":"1.0","type":"carillon.job.due","source":"carillon","subject":' || f.key
      || ',"datacontenttype":"application/json","data":' || f.data || ',"schedulekey":' || f.key
      || ',"scheduleid":"' || f.id || '","attempt":1}', chr(65534), '\ufffe'), chr(65535), '\uffff'),
    f.version > 1
  from (
    select w.schedule_id as id, w.version, s.shard, coalesce(s.team_id, 0) as team_id, w.held, w.held_until, v.target, v.pulse_lag_s as lag_s, (v.every_ms / 1000)::int as every_s,
      floor(date_part('epoch', w.changed_at))::bigint as cut_s,
      ceil(date_part('epoch', v.first_at))::bigint + v.pulse_lag_s as first_at_s,
      ceil(date_part('epoch', greatest(v.first_at, v.starts_at)))::bigint + v.pulse_lag_s as first_s,
      ceil(date_part('epoch', v.ends_at))::bigint + v.pulse_lag_s as ends_s,
      to_json(s.key)::text as key, coalesce(v.payload, 'null')::text as data
    from written w
    -- By its id alone (`offset 0`): without statistics, the planner would read the index of all live keys.
    cross join lateral (select key, shard, team_id, version, deleted_at from carillon.schedules where id = w.schedule_id offset 0) s
    cross join lateral (
      select w.target, w.payload, w.pulse_lag_s, w.every_ms, w.first_at, w.starts_at, w.ends_at where w.spec_version = w.version
      union all
      select target, payload, pulse_lag_s, every_ms, first_at, starts_at, ends_at from carillon.schedule_versions
      where schedule_id = w.schedule_id and version = w.spec_version and w.spec_version < w.version
    ) v
    where w.version = s.version and s.deleted_at is null and v.pulse_lag_s is not null
  ) f
  join carillon.pulse_targets k on md5(k.target::text) = md5(f.target::text)
  left join carillon.pulses o on o.schedule_id = f.id
  on conflict (schedule_id) do update
  set starts_s = excluded.starts_s, ends_s = excluded.ends_s, every_s = excluded.every_s, offset_s = excluded.offset_s,
    lag_s = excluded.lag_s, target_id = excluded.target_id, rest = excluded.rest,
    -- Another team while the cadence goes on could take a late pulse out of a part that is not sent yet.
    team_id = case when (p.every_s, p.offset_s, p.lag_s) = (excluded.every_s, excluded.offset_s, excluded.lag_s) then p.team_id else excluded.team_id end;
  return null;
end $$;

-- Deletes the rows of pulses whose schedules' rows are deleted.
-- Locks: the rows of these pulses.
-- Returns: nothing.
-- Called by: the trigger schedules_pulse_gone, after delete on carillon.schedules, for each statement.
create or replace function carillon.forget_pulses() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  delete from carillon.pulses p using gone g where p.schedule_id = g.id;
  return null;
end $$;

-- Makes the parcels of a shard's pulses, one for each second with a pulse, from where they end now up to
-- p_horizon_ms ahead. Seconds that are more than p_missed_ms ago get none: if the shard has a pulse, they are
-- noted as passed over (`missed`). p_looks bounds the search of carillon.pulse_seconds.
-- Locks: the shard's plan lock, exclusively, before anything is read: an edit has committed before and is
-- seen, or comes later and sees how far the parcels reach. Then the shard's row.
-- Returns: the parcels, to be sent in wait_ms; before them, if seconds were passed over, a row with their
-- number and no id.
-- Called by: makeParcelsOf in lib/tick/fire/make-pulse-parcels.ts.
create or replace function carillon.make_pulse_parcels(p_shard int, p_horizon_ms int, p_missed_ms int, p_looks int)
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

-- Notes that a pulse may have jobs, because one is made by hand: its edits have to wait for claims from now
-- on.
-- Locks: the row of the pulse, if it changes. The caller holds the row of the schedule.
-- Returns: nothing.
-- Called by: makeJob in lib/job-control/fire-now.ts.
create or replace function carillon.note_jobs_of_pulse(p_schedule bigint) returns void
  language sql security definer
  set search_path = pg_catalog, pg_temp
  begin atomic
  update carillon.pulses set may_have_jobs = true where schedule_id = p_schedule and not may_have_jobs;
end;

-- Finds the seconds from p_from to p_to at which a shard has a pulse, by steps through the index from one
-- interval to the next and from one offset to the next. To be sure costs more than a parcel too many, so a
-- second may be returned without need: all of them if the search takes more than p_looks steps, and a second
-- for which the first hundred pulses of an interval and offset are all held or over.
-- Locks: none. The caller holds the shard's plan lock.
-- Returns: the seconds since 1970, ascending.
-- Called by: carillon.make_pulse_parcels, where it inserts the parcels.
create or replace function carillon.pulse_seconds(p_shard int, p_from bigint, p_to bigint, p_looks int) returns setof bigint
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
    -- Offsets come due from that of p_from up to the last of the interval, and then from the first.
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
                where p.shard = v_shard and p.every_s = v_every and p.offset_s = v_offset order by p.team_id, p.schedule_id limit 100) l) then
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

-- Says how often a parcel of pulses is worked until the pulses that its targets did not take are given up.
-- Locks: none.
-- Returns: the number of tries.
-- Called by: carillon.claim_parcel, to tell the worker of the last try; carillon.end_lease and
-- carillon.settle_pulses, before another try.
create or replace function carillon.pulse_tries_max() returns smallint language sql immutable parallel safe as $$ select 6::smallint $$;

-- Reads the pulses that beat at a second of a shard, with their envelopes, in the order of (interval, team,
-- schedule). p_team_from and p_team_to: only those of the teams with these numbers. A page of one team begins
-- behind the place (p_every, p_schedule). It reads in lots of up to 250 pulses and stops at
-- p_rows pulses, or after the lot that reaches p_bytes. p_times is the text of an envelope between its
-- occurrence and its constant members. p_targets: only pulses of these targets; null: of all.
-- Locks: none.
-- Returns: for each lot a row per team and target: the number of pulses, the last schedule among them, and the
-- envelopes, separated by U+001F, which JSON text never holds. The rows of a lot are in no order. A last row
-- without an interval says that there are no more pulses.
-- Called by: readPulses in lib/pulse/read-pulses.ts.
create or replace function carillon.read_pulses(p_shard int, p_second bigint, p_team_from int, p_team_to int, p_targets int[], p_every int, p_schedule bigint, p_times text, p_rows int, p_bytes int)
  returns table (every_s int, target_id int, pulses int, last_schedule bigint, envelopes text)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  -- Rows come in the order of the index, and targets are grouped by a hash: neither needs a sort.
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_sort = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint := p_shard;
  v_rows int := p_rows;
  v_bytes bigint := p_bytes;
  v_every int;
  v_team int;
  v_from bigint;
  v_beginning constant text := '{"id":"';
  v_between constant text := chr(31) || '{"id":"';
  v_most int;
  v_wanted int;
  v_read int;
  v_size bigint;
  v_group record;
begin
  -- The interval before the first one that is read.
  v_every := p_every - 1;
  loop
    -- One interval after the other, so that none is passed: a page continues behind the place where the last one
    -- ended. A query for all intervals would need a sort, or return them in any order.
    select p.every_s into v_every from carillon.pulses p where p.shard = v_shard and p.every_s > v_every order by p.every_s limit 1;
    exit when not found;
    continue when not exists (
      select from carillon.pulses p where p.shard = v_shard and p.every_s = v_every and p.offset_s = p_second % v_every);
    v_team := p_team_from;
    v_from := case when v_every = p_every then p_schedule else 0 end;
    -- The envelopes of the next interval may be longer than those of the one before: begin with a small lot.
    v_most := 100;
    loop
      v_wanted := least(v_rows, v_most);
      v_read := 0;
      v_size := 0;
      for v_group in
        select s.team_id, s.target_id, count(*)::int as pulses, max(s.schedule_id) as last_schedule, sum(octet_length(s.rest)) as bytes,
          string_agg(s.schedule_id || '-' || p_second - s.lag_s || p_times || s.rest, v_between) as envelopes
        from (
          select p.team_id, p.target_id, p.schedule_id, p.lag_s, p.rest
          from carillon.pulses p
          where p.shard = v_shard and p.every_s = v_every and p.offset_s = p_second % v_every
            and (p.team_id, p.schedule_id) > (v_team, v_from) and p.team_id <= p_team_to
            and p.starts_s <= p_second and (p.ends_s is null or p.ends_s > p_second)
            and (p_targets is null or p.target_id = any(p_targets))
          order by p.team_id, p.schedule_id limit v_wanted
        ) s
        group by s.team_id, s.target_id
      loop
        v_read := v_read + v_group.pulses;
        v_size := v_size + v_group.bytes;
        if (v_group.team_id, v_group.last_schedule) > (v_team, v_from) then
          v_team := v_group.team_id;
          v_from := v_group.last_schedule;
        end if;
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
      -- Few enough that the envelopes are still in the cache when they are joined, and no more than fit into
      -- the bytes that are left if they are as long as those of this lot.
      v_most := greatest(1, least(250, v_bytes * v_read / v_size));
    end loop;
  end loop;
  return query select null::int, null::int, null::int, null::bigint, null::text;
end $$;

-- Divides a claimed parcel of pulses, which are too many for one page, by teams: of its teams with a pulse at this
-- second each gets a parcel, so that none waits for the pages of another. Beyond p_most teams the others share a
-- parcel, which is divided when a worker has it. If there is only one team, its parcel stays, and is that
-- team's from now on.
-- Locks: the parcel.
-- Returns: first a row with held, false if the fence is not the caller's, where nothing is written, and with the
-- only team, with whose pulses the caller goes on; then the new parcels, to be sent.
-- Called by: dividePulses in lib/pulse/divide-pulses.ts.
create or replace function carillon.divide_pulses(p_parcel bigint, p_fence int, p_most int)
  returns table (held boolean, team int, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_second bigint;
  v_last int;
  v_teams int[] := '{}';
  v_every int := 0;
  v_team int;
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.fence = p_fence and p.lease_until is not null and p.pulse_at is not null for update;
  if not found then return query select false, null::int, null::bigint, null::carillon.queue_class, null::timestamptz; return; end if;

  v_second := extract(epoch from v_parcel.pulse_at);
  v_last := coalesce(v_parcel.pulse_team_to, 2147483647);
  <<intervals>> loop
    select p.every_s into v_every from carillon.pulses p where p.shard = v_parcel.shard and p.every_s > v_every order by p.every_s limit 1;
    exit intervals when not found;
    v_team := coalesce(v_parcel.pulse_team_from, 0) - 1;
    loop
      select p.team_id into v_team from carillon.pulses p
      where p.shard = v_parcel.shard and p.every_s = v_every and p.offset_s = v_second % v_every and p.team_id > v_team and p.team_id <= v_last
      order by p.team_id limit 1;
      exit when not found;
      continue when v_team = any(v_teams);
      v_teams := array(select t.id from unnest(v_teams || v_team) t (id) order by t.id limit p_most + 1);
      -- Teams behind the first ones are not looked for.
      if cardinality(v_teams) > p_most then v_last := v_teams[p_most + 1]; end if;
    end loop;
  end loop;

  if cardinality(v_teams) < 2 then
    return query
      update carillon.parcels p set pulse_team_from = coalesce(v_teams[1], 0), pulse_team_to = coalesce(v_teams[1], 0) where p.id = p_parcel
      returning true, p.pulse_team_to, null::bigint, null::carillon.queue_class, null::timestamptz;
    return;
  end if;
  delete from carillon.parcels p where p.id = p_parcel;
  return query select true, null::int, null::bigint, null::carillon.queue_class, null::timestamptz;
  return query
    insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_team_from, pulse_team_to,
      occurrences, schedule_ids)
    select v_parcel.shard, v_parcel.queue, v_now, v_now + interval '20 seconds', v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,
      t.id, case when t.n <= p_most then t.id else v_parcel.pulse_team_to end, '{}', '{}'
    from unnest(v_teams) with ordinality t (id, n)
    order by t.n
    returning true, null::int, parcels.id, parcels.queue, parcels.ready_at;
end $$;

-- Looks at the next p_max targets of pulses by id: marks those that no pulse uses, takes the mark off those that
-- a pulse uses, and deletes those that were marked a day ago and that no pulse uses. At the end of a round it sets
-- the next look to an hour later.
-- A worker gives up the pulses of a number without a row. It has the numbers of a page in memory for as long as an
-- invocation takes, eleven minutes, and those of a parcel that is tried again for three minutes. A transaction
-- that has found the target without a mark ends as soon. All of them are over within a day.
-- A target that an edit is about to use is locked if it was marked (carillon.follow_pulses), and is passed over.
-- If it is locked here first, the edit waits until it is deleted, and makes it again. The second look at the pulses is
-- a statement of its own: it sees pulses that were committed before the lock.
-- Locks: the row of carillon.pulse_target_round; none if another tick has it. Then the targets that change, for
-- update, by id; locked ones are passed over.
-- Returns: one row: how many targets were looked at and deleted. No row if another tick has the round.
-- Called by: reclaimPulseTargets in lib/tick/housekeeping/reclaim-pulse-targets.ts.
create or replace function carillon.reclaim_pulse_targets(p_max int) returns table (looked int, gone int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- The planner may expect many pulses of a target, and read all pulses instead.
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_place int;
  v_looked int[];
  v_locked int[];
  v_unused int[];
begin
  select r.place into v_place from carillon.pulse_target_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select t.id from carillon.pulse_targets t where t.id > v_place order by t.id limit p_max);
  v_locked := array(
    select t.id from carillon.pulse_targets t
    where t.id = any(v_looked) and (t.unused_at < v_now - interval '1 day'
      or (t.unused_at is null) = not exists (select from carillon.pulses p where p.target_id = t.id offset 0)));
  v_locked := array(select t.id from carillon.pulse_targets t where t.id = any(v_locked) order by t.id for update skip locked);
  v_unused := array(select u.id from unnest(v_locked) u (id) where not exists (select from carillon.pulses p where p.target_id = u.id offset 0));
  delete from carillon.pulse_targets t where t.id = any(v_unused) and t.unused_at < v_now - interval '1 day';
  get diagnostics gone = row_count;
  update carillon.pulse_targets t set unused_at = case when t.id = any(v_unused) then v_now end
  where t.id = any(v_locked) and (t.unused_at is null) = (t.id = any(v_unused));
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.pulse_target_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = v_now + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;

-- Settles a claimed parcel of pulses under its fence and deletes it. Writes how many pulses were taken
-- (p_pulses) and how late (p_counts of them by p_late_ms), and how many were lost for good.
-- The pulses behind the place (p_rest_every, p_rest_schedule), for which the worker had no time, go into a
-- new parcel that is ready at once. The pulses of the targets in p_failed go into a parcel that is ready
-- later and begins behind the place (p_failed_every, p_failed_schedule), unless this was the last try: then
-- they are noted as passed over (`failed`). Pulses of the targets in p_refused are never tried again, and are
-- noted as `refused`.
-- Locks: the parcel.
-- Returns: first a row with settled, false if the fence is not the caller's, where nothing is written; then
-- the new parcels, to be sent.
-- Called by: settlePulses in lib/pulse/settle-pulses.ts.
create or replace function carillon.settle_pulses(p_parcel bigint, p_fence int, p_pulses bigint, p_late_ms int[], p_counts bigint[],
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
      insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_team_from, pulse_team_to, pulse_every, pulse_schedule,
        occurrences, schedule_ids)
      values (v_parcel.shard, v_parcel.queue, v_now, v_now + interval '20 seconds', v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,
        v_parcel.pulse_team_from, v_parcel.pulse_team_to, p_rest_every, p_rest_schedule, '{}', '{}')
      returning true, parcels.id, parcels.queue, parcels.ready_at;
  end if;

  v_tries := coalesce(v_parcel.pulse_tries, 0) + 1;
  if cardinality(p_failed) > 0 and v_tries < carillon.pulse_tries_max() then
    -- 5, 10, 20, 40 and 80 seconds.
    v_again_at := v_now + interval '5 seconds' * power(2, v_tries - 1);
    return query
      insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_team_from, pulse_team_to, pulse_every, pulse_schedule,
        occurrences, schedule_ids)
      values (v_parcel.shard, v_parcel.queue, v_again_at, greatest(v_now + interval '20 seconds', v_again_at - interval '150 seconds'),
        v_parcel.pulse_at, p_failed, v_tries, v_parcel.pulse_team_from, v_parcel.pulse_team_to, p_failed_every, p_failed_schedule, '{}', '{}')
      returning true, parcels.id, parcels.queue, parcels.ready_at;
    p_failed := null;
  end if;

  insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, team_id, count, reason)
  select v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, l.target_id,
    case when v_parcel.pulse_team_from = v_parcel.pulse_team_to then v_parcel.pulse_team_from end, l.count, l.reason
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
