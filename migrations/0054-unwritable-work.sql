-- carillon: back to 31
-- A row of the working side that cannot be written keeps no place at a target and no lane of other jobs, and says why it waits.

-- The places at targets that parcels have. Without those of parcels whose lease has ended and that could not be taken from their worker since: the place is in a row
-- that cannot be written, and the parcels behind it would wait until it is mended. A lease that was given after the entry was written is another worker's, and counts.
-- Whether any parcel is set aside is asked once, of an index that is nearly always empty.
create view carillon.taken_places as
  select p.target_id, p.slots, p.queue, p.lease_until, p.ready_at, cardinality(p.occurrences) as jobs
  from carillon.parcels p
  where p.slots is not null
    and (not exists (select from carillon.quarantine q where q.consumer = 'lease')
      or not exists (select from carillon.quarantine q where q.consumer = 'lease' and q.item = p.id::text and q.last_at >= p.lease_until));

-- How many parcels of a target may be worked at once, where that is bounded: its share of the workers, but no more than half of what the
-- other targets leave. Several that hang at once leave some to the rest.
create or replace function carillon.share_now(p_target carillon.targets, p_now timestamptz) returns int
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_target.share is not null then least(p_target.share, greatest(1, (2 * p_target.share + 1 - (
      select count(*) from (
        select from carillon.taken_places p
        where p.queue = 'slow' and p.target_id <> p_target.id and (p.lease_until is not null or p.ready_at <= p_now)
        limit 2 * p_target.share) others)) / 2))::int end
  $$;

-- For a parcel that finds room and no parcel before it: returns how many of its jobs may be under way at once, and counts its start at the
-- target's rate. Null where the parcel must wait.
create or replace function carillon.direct_slots(p_target int, p_jobs int, p_now timestamptz) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_target carillon.targets;
  v_parcels bigint;
  v_slots bigint;
  v_next_at timestamptz;
  v_took interval;
begin
  perform from carillon.due_turns(p_target, p_now, 1);
  if found then return null; end if;
  select t.* into v_target from carillon.targets t where t.id = p_target;
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.taken_places p where p.target_id = p_target;
  if v_parcels >= carillon.share_now(v_target, p_now) or v_slots >= v_target.concurrency then return null; end if;
  if v_target.rate_count is not null then
    v_took := carillon.rate_time(v_target, p_jobs);
    v_next_at := coalesce(greatest(v_target.busy_until, v_target.next_at + v_target.slipped_ms * interval '1 millisecond'), p_now);
    if v_next_at > p_now + carillon.rate_slack(v_took) then return null; end if;
    update carillon.targets t set next_at = greatest(v_next_at, p_now) + v_took - t.slipped_ms * interval '1 millisecond' where t.id = p_target;
  end if;
  return least(p_jobs, coalesce(v_target.concurrency - v_slots, p_jobs));
end $$;

-- Gives the places that are free at a target to the parcels that wait there, in their order: so many as its limits and its share allow, each with the instant at which
-- it may start. Of a slow parcel a few jobs are under way at once, however many it holds. The caller has the target's lock.
create or replace function carillon.grant_turns(p_target int, p_now timestamptz, p_max int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_target carillon.targets;
  v_parcels bigint;
  v_slots bigint;
  v_from timestamptz;
  v_job_ms float8;
  v_taken bigint;
  v_next bigint[];
begin
  select t.* into v_target from carillon.targets t where t.id = p_target;
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.taken_places p where p.target_id = p_target;
  v_taken := case when carillon.jobs_a_turn(v_target.cost_ms) > 1 and v_target.concurrency is null and v_target.rate_count is null
    then carillon.company_max() * v_parcels else 0 end;
  v_parcels := least(p_max, carillon.share_now(v_target, p_now) - v_parcels);
  v_slots := v_target.concurrency - v_slots;
  v_job_ms := v_target.rate_ms::float8 / v_target.rate_count;
  v_from := greatest(p_now, v_target.busy_until, v_target.next_at + v_target.slipped_ms * interval '1 millisecond');
  if v_parcels <= 0 or v_slots <= 0 then return; end if;
  perform carillon.merge_turns(v_target, p_now, v_parcels);
  v_next := array(select d.id from carillon.due_turns(p_target, p_now, v_parcels + v_taken) d);

  return query
    with first as materialized (
      -- Without parcels that a claim is taking along at this moment.
      select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
      where p.id = any(v_next) and coalesce(p.turn, 'granted') = 'waits' order by p.turn_at, p.id limit v_parcels for update skip locked
    ), placed as materialized (
      -- A slow parcel has a few jobs under way at once, a fast parcel all of its jobs.
      select f.id, f.jobs, o.at_once, sum(f.jobs) over place - f.jobs as ahead, sum(o.at_once) over place - o.at_once as slots_ahead
      from first f join carillon.parcels p on p.id = f.id
      cross join lateral (select case p.queue when 'fast' then f.jobs else least(f.jobs, carillon.side_by_side()) end as at_once) o
      window place as (order by f.turn_at, f.id)
    ), starting as materialized (
      select l.id, l.jobs, least(l.at_once, coalesce(v_slots - l.slots_ahead, l.at_once)) as slots,
        case when v_job_ms is null then p_now else v_from + l.ahead * v_job_ms * interval '1 millisecond' end as start_at
      from placed l where coalesce(l.slots_ahead < v_slots, true)
    ), granted as materialized (
      select s.* from starting s where s.start_at <= p_now + interval '2 minutes'
    ), moved_on as (
      update carillon.targets t set next_at = v_from - v_target.slipped_ms * interval '1 millisecond' + g.jobs * v_job_ms * interval '1 millisecond'
      from (select sum(jobs) as jobs from granted) g where t.id = p_target and v_job_ms is not null and g.jobs > 0
    )
    update carillon.parcels p set turn = 'granted', slots = g.slots, ready_at = g.start_at, offers = 0,
      slot_at = case when v_job_ms is not null then g.start_at - v_target.slipped_ms * interval '1 millisecond' end,
      offer_at = greatest(p_now + interval '20 seconds', g.start_at - interval '150 seconds')
    from granted g where p.id = g.id
    returning p.id, p.queue, p.ready_at;
end $$;

-- Whether there is room for one more at a target that only its share bounds. A quarter of the share may look side by side, each with a seat of its own
-- (class 9), and counts on all of them: so never more go on than may. A claim gets no room here where a parcel waits, or where the target is nearly full.
-- It waits for a seat, and for the claim that decides about waiting parcels (class 6, shared here). Without room it releases both locks: two claims that
-- keep that lock shared and then want it alone would wait for each other.
create or replace function carillon.find_room(p_target carillon.targets, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_seats int := greatest(1, p_target.share / 4);
  v_first int := p_target.id % 1000000 * 1000;
  v_seat int;
begin
  -- Without a lock at first: where a parcel waits, there is no room to look for.
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if found then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target.id);
  select s into v_seat from generate_series(v_first, v_first + v_seats - 1) s where pg_try_advisory_xact_lock(9, s) limit 1;
  -- A claim keeps its seat until its transaction ends.
  if v_seat is null then perform pg_advisory_xact_lock(9, v_first + floor(random() * v_seats)::int); end if;
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if not found and v_seats + (select count(*) from carillon.taken_places p where p.target_id = p_target.id)
    <= carillon.share_now(p_target, p_now)
  then
    return true;
  end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;

-- Whether as many parcels of a target that only its share bounds go on as may.
create or replace function carillon.is_full(p_target carillon.targets, p_now timestamptz) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return (select count(*) from carillon.taken_places p where p.target_id = p_target.id) >= carillon.share_now(p_target, p_now);
end $$;

grant select on carillon.taken_places to carillon_api;

-- Sets a parcel aside that a worker cannot claim, as lib/quarantine/quarantine.ts sets rows aside: workers have no right to the quarantine itself. Called where the claim of
-- one job has failed (lib/parcel/claims-aside.ts). Says whose job it is where one job is left in the parcel, whatever its lists say. No row where the parcel is not
-- to be claimed any more, such as one that another worker has claimed meanwhile.
create function carillon.set_claim_aside(p_parcel bigint, p_reason text)
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

revoke execute on function carillon.set_claim_aside(bigint, text) from public;
-- safe: the function is new.
grant execute on function carillon.set_claim_aside(bigint, text) to carillon_worker;

-- Ends the work on a parcel whose settle or end_lease has failed as a whole. Where all its jobs are settled the parcel is deleted. Else it gives up its place at the
-- target, its lease ends, so that the next sweep tries again to take the jobs from it, and it lists those jobs alone, so that the sweep can say whose they are. Called
-- with the fence by the worker, and with null where the lease has ended (lib/parcel/leave-parcel.ts). Locks the parcel. Its places in lanes the caller gives up, each by
-- itself: one that cannot be written would keep the lanes of the other jobs. A place that stays there bars no job, since its own job is over. Returns the target and
-- whether there are lanes to leave; no row where the lease is lost.
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

-- Values that no part of Carillon writes, and that make a part which reads them fail or wait for ever. The constraints refuse such a write. They are not valid for
-- existing rows: those are mended below, under the same locks.

-- A lease without an end keeps its jobs for ever: no sweep takes them from their worker.
alter table carillon.parcels add constraint parcels_lease_ends check (isfinite(lease_until)) not valid;
-- safe: it writes only the rows with such a lease; the next sweep ends it.
update carillon.parcels set lease_until = carillon.clock(), offer_at = carillon.clock() where not isfinite(lease_until);

-- The next start at a rate counts from these; nothing would start any more.
alter table carillon.targets
  add constraint targets_starts_are_instants check (isfinite(busy_until) and isfinite(next_at) and isfinite(spread_to) and slipped_ms >= 0) not valid,
  add constraint targets_cost_is_a_time check (cost_ms >= 0 and cost_ms < 'infinity') not valid;
-- safe: the table is small, and only rows with such a value are written. The target's rate starts from now, and its cost is measured again.
update carillon.targets set busy_until = null, next_at = null, spread_to = null, slipped_ms = 0,
  cost_ms = case when cost_ms >= 0 and cost_ms < 'infinity' then cost_ms end
where not isfinite(busy_until) or not isfinite(next_at) or not isfinite(spread_to) or slipped_ms < 0 or cost_ms < 0 or cost_ms >= 'infinity';

-- The tick counts days and seconds from these: it fails for the shard, or never fires it again.
alter table carillon.shards
  add constraint shards_lines_are_instants check (isfinite(watermark_at) and isfinite(reached_at) and isfinite(near_until) and isfinite(pulsed_to)) not valid;
-- safe: there are 64 rows. It is not known which second was the last to be pulsed, so the shard goes on from now.
update carillon.shards set pulsed_to = date_trunc('second', carillon.clock())
where not isfinite(pulsed_to) and isfinite(watermark_at) and isfinite(reached_at) and isfinite(near_until);

-- Counts that are only ever added to. `fired` and `skipped` may be below zero: a job may be withdrawn in a later minute than the one that counted it.
alter table carillon.minutes add constraint minutes_count_up
  check (least(succeeded, failed, dead, cancelled, missed, pulses, pulses_lost) >= 0) not valid;
-- safe: the table is small, and only rows with such a count are written.
update carillon.minutes set succeeded = greatest(succeeded, 0), failed = greatest(failed, 0), dead = greatest(dead, 0), cancelled = greatest(cancelled, 0),
  missed = greatest(missed, 0), pulses = greatest(pulses, 0), pulses_lost = greatest(pulses_lost, 0)
where least(succeeded, failed, dead, cancelled, missed, pulses, pulses_lost) < 0;
alter table carillon.minute_lateness add constraint minute_lateness_counts_up check (jobs >= 0) not valid;
-- safe: it writes only rows with such a count.
update carillon.minute_lateness set jobs = 0 where jobs < 0;
alter table carillon.minute_pulse_lateness add constraint minute_pulse_lateness_counts_up check (pulses >= 0) not valid;
-- safe: it writes only rows with such a count.
update carillon.minute_pulse_lateness set pulses = 0 where pulses < 0;
alter table carillon.failure_runs add constraint failure_runs_count_up check (failures >= 0) not valid;
-- safe: it writes only rows with such a count.
update carillon.failure_runs set failures = 0 where failures < 0;
alter table carillon.shared_holds add constraint shared_holds_members_count_up check (members >= 0) not valid;
-- safe: it writes only rows with such a count.
update carillon.shared_holds set members = 0 where members < 0;
alter table carillon.pulses_passed add constraint pulses_passed_count check (count >= 0) not valid;
alter table carillon.archived_days add constraint archived_days_count_up check (least(fence, parts, jobs, attempts, parts_max) >= 0) not valid;
-- safe: it writes only rows with such a count.
update carillon.archived_days set fence = greatest(fence, 0), parts = greatest(parts, 0), jobs = greatest(jobs, 0), attempts = greatest(attempts, 0),
  parts_max = greatest(parts_max, 0)
where least(fence, parts, jobs, attempts, parts_max) < 0;
alter table carillon.token_allowances add constraint token_allowances_count check (used >= 0 and used < 'infinity' and given >= 0) not valid;
-- safe: it deletes only rows with such a count. The next request of the token writes a new one.
delete from carillon.token_allowances where used < 0 or used >= 'infinity' or given < 0;
