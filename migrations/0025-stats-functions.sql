-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Sorts a lateness into a bucket. Bucket 0 is below a millisecond; bucket b is from 1.1 ^ (b - 1) up to
-- 1.1 ^ b milliseconds. lib/stats/lateness.ts reads the buckets back.
-- Locks: none.
-- Returns: the bucket; null for a null lateness, which callers give for a job that did not start for the
-- first time.
-- Called by: carillon.write_outcomes, write_successes and end_lease for jobs; carillon.settle_pulses for
-- pulses; sumsBySteps in lib/stats/ledger-sums.ts for jobs of the ledger.
create or replace function carillon.lateness_bucket(p_late interval) returns int
  language sql immutable parallel safe
  as $$ select case when p_late is not null then 1 + floor(ln(greatest(date_part('epoch', p_late) * 1000, 0.95)) / ln(1.1::float8) + 1e-9)::int end $$;

-- Marks that a tick has fired, and keeps the ledger of outages (carillon.outages).
-- A gap of more than 150 s from the last mark to the begin of this tick (p_began; null: not known, then its mark) is an
-- outage. It is one of the database if its server was restarted in the gap, or if p_unreached says that a tick could not
-- reach it; otherwise it is one of the tick. It ends with that begin: what this tick decides, it decides after it.
-- The workers of a queue are away while parcels are ready, sent and not claimed for a minute, no worker has claimed
-- a parcel of the queue for as long, whether with jobs or without, and none has one under a lease. That outage begins
-- when the first of these parcels could have been claimed and the last work had ended, and ends with the next claim,
-- or when no such parcel is left. It is not looked for across a gap: the messages of that time are only being sent.
-- It looks at no more than the 1,000 parcels whose next message is due first, 10,000 while an outage lasts. Nearly
-- always there is none of them, and it reads no further. Outages older than p_retention are deleted.
-- Locks: the row of the heartbeat; the open outages.
-- Returns: the outages that were noted or have ended now.
-- Called by: noteTick in lib/tick/housekeeping/note-tick.ts, once per tick, after it has fired and before its sweep.
create or replace function carillon.note_tick(p_unreached boolean, p_retention interval, p_began timestamptz)
  returns table (what text, from_at timestamptz, to_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_began timestamptz := coalesce(p_began, v_now);
  v_started timestamptz(3) := pg_postmaster_start_time();
  v_last carillon.heartbeat;
  v_queue carillon.queue_class;
  v_open timestamptz;
  v_since timestamptz;
  v_claim timestamptz;
  v_emptied timestamptz;
  v_fast_empty bigint := (select q.last_value - case when q.is_called then 0 else 1 end from carillon.fast_empty_claims q);
  v_slow_empty bigint := (select q.last_value - case when q.is_called then 0 else 1 end from carillon.slow_empty_claims q);
  v_fast_emptied timestamptz;
  v_slow_emptied timestamptz;
begin
  select h.* into v_last from carillon.heartbeat h for update;
  update carillon.heartbeat h set ticked_at = greatest(h.ticked_at, v_now), server_started_at = v_started,
    fast_empty_claims = v_fast_empty, fast_emptied_at = case when v_fast_empty <> h.fast_empty_claims then v_now else h.fast_emptied_at end,
    slow_empty_claims = v_slow_empty, slow_emptied_at = case when v_slow_empty <> h.slow_empty_claims then v_now else h.slow_emptied_at end
  returning h.fast_emptied_at, h.slow_emptied_at into v_fast_emptied, v_slow_emptied;
  delete from carillon.outages o
  where o.what in ('tick', 'database', 'fast-workers', 'slow-workers') and o.from_at < v_now - p_retention and o.to_at is not null;
  if v_began > v_last.ticked_at + interval '150 seconds' then
    return query
      insert into carillon.outages (what, from_at, to_at, noted_at)
      values (case when p_unreached or v_last.server_started_at is distinct from v_started then 'database' else 'tick' end, v_last.ticked_at, v_began, v_now)
      returning outages.what, outages.from_at::timestamptz, outages.to_at::timestamptz;
  end if;
  foreach v_queue in array enum_range(null::carillon.queue_class) loop
    v_open := (select o.from_at from carillon.outages o where o.what = v_queue || '-workers' and o.to_at is null);
    v_since := carillon.unclaimed_since(v_queue, v_now, case when v_open is null then 1000 else 10000 end);
    continue when v_open is null and v_since is null;
    v_emptied := case v_queue when 'fast' then v_fast_emptied else v_slow_emptied end;
    if v_open is not null then
      v_claim := least(
        (select min(t.claimed_at) from carillon.parcel_times t where t.queue = v_queue and t.claimed_at > v_open),
        (select min(p.claimed_at) from carillon.parcels p where p.queue = v_queue and p.lease_until is not null and p.claimed_at > v_open),
        case when v_emptied > v_open then v_emptied end);
      continue when v_claim is null and v_since is not null;
      return query
        update carillon.outages o set to_at = coalesce(v_claim, v_now) where o.what = v_queue || '-workers' and o.to_at is null
        returning o.what, o.from_at::timestamptz, o.to_at::timestamptz;
      continue;
    end if;
    -- A worker that has a parcel for long is at work, though it claims no other meanwhile.
    continue when exists (select from carillon.parcels p where p.queue = v_queue and p.lease_until >= v_now);
    v_since := greatest(v_since, v_emptied,
      (select t.settled_at from carillon.parcel_times t where t.queue = v_queue and t.claimed_at <= v_now order by t.claimed_at desc limit 1),
      (select max(o.to_at) from (select g.to_at from carillon.outages g where g.what = 'tick' order by g.from_at desc limit 1) o),
      (select max(o.to_at) from (select g.to_at from carillon.outages g where g.what = 'database' order by g.from_at desc limit 1) o));
    continue when v_since > v_now - interval '1 minute';
    return query
      insert into carillon.outages (what, from_at, noted_at) values (v_queue || '-workers', v_since, v_now)
      on conflict do nothing
      returning outages.what, outages.from_at::timestamptz, null::timestamptz;
  end loop;
end $$;

-- Adds at most p_max rows of schedule_tallies and p_max rows of tallies to the counts, and deletes these
-- rows. Rows that another tick has are left to it.
-- Locks: the rows of schedule_tallies, skipping locked ones, and the row of schedule_counts; then the rows of
-- tallies, skipping locked ones, and those of their minutes, ascending.
-- Returns: one row: `taken`, the larger of the two numbers of rows, and the sums of the tallies.
-- Called by: rollUpTallies in lib/tick/housekeeping/roll-up.ts, until `taken` is below p_max.
create or replace function carillon.roll_up(p_max int)
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_schedules int := carillon.roll_up_schedules(array(select p.ctid from carillon.schedule_tallies p limit p_max for update skip locked));
begin
  return query
    select greatest(v_schedules, r.taken), r.fired, r.succeeded, r.failed, r.dead, r.cancelled, r.skipped, r.missed, r.pulses_lost, r.pulse_seconds_passed
    from carillon.roll_up_tallies(array(select p.ctid from carillon.tallies p limit p_max for update skip locked)) r;
end $$;

-- Adds these rows of schedule_tallies to schedule_counts, and deletes them. Rows that are locked or gone are
-- passed over. The time of the last roll-up is written even if there is nothing to add.
-- Locks: the rows, skipping locked ones; then the row of schedule_counts.
-- Returns: the number of rows that were added.
-- Called by: carillon.roll_up; addSchedules in lib/tick/housekeeping/roll-up-apart.ts, for the parts of a roll-up that has
-- failed.
create or replace function carillon.roll_up_schedules(p_rows tid[]) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as (
    delete from carillon.schedule_tallies t
    where t.ctid = any (array(select p.ctid from carillon.schedule_tallies p where p.ctid = any (p_rows) for update skip locked))
    returning t.schedules, t.held
  ), added as (
    update carillon.schedule_counts c set schedules = c.schedules + s.schedules, held = c.held + s.held, rolled_up_at = carillon.clock()
    from (select coalesce(sum(t.schedules), 0) as schedules, coalesce(sum(t.held), 0) as held from taken t) s
  )
  select count(*) into v_taken from taken;
  return v_taken;
end $$;

-- Adds these rows of tallies to their minutes and to the lateness of their minutes, and deletes them. Rows
-- that are locked or gone are passed over.
-- Locks: the rows, skipping locked ones; then the rows of the minutes, ascending in each table.
-- Returns: one row: the number of rows that were added, and their sums.
-- Called by: carillon.roll_up; addTallies in lib/tick/housekeeping/roll-up-apart.ts, for the parts of a roll-up that has
-- failed.
create or replace function carillon.roll_up_tallies(p_rows tid[])
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    with taken as (
      delete from carillon.tallies t
      where t.ctid = any (array(select p.ctid from carillon.tallies p where p.ctid = any (p_rows) for update skip locked))
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
    select count(*)::int, coalesce(sum(t.fired), 0)::bigint, coalesce(sum(t.succeeded), 0)::bigint,
      coalesce(sum(t.failed), 0)::bigint, coalesce(sum(t.dead), 0)::bigint, coalesce(sum(t.cancelled), 0)::bigint,
      coalesce(sum(t.skipped), 0)::bigint, coalesce(sum(t.missed), 0)::bigint,
      coalesce(sum(t.pulses_lost), 0)::bigint, coalesce(sum(t.pulse_seconds_passed), 0)::bigint
    from taken t;
end $$;

-- Adds at most p_max rows of target_work to the costs of their targets, and deletes these rows. Rows that
-- another tick has are left to it.
-- Locks: the rows, skipping locked ones; then the targets, as carillon.roll_up_work_rows does.
-- Returns: the number of rows that were taken.
-- Called by: rollUpWork in lib/tick/housekeeping/roll-up.ts, until fewer than p_max rows are taken.
create or replace function carillon.roll_up_work(p_max int) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  return carillon.roll_up_work_rows(array(select p.ctid from carillon.target_work p limit p_max for update skip locked));
end $$;

-- Moves the cost of targets on by these rows of target_work, and deletes them. A hundred jobs weigh as much
-- as all jobs before them. Rows that are locked or gone are passed over.
-- The rows of a locked target are deleted without being added: later rows will move its cost on.
-- Locks: the rows, skipping locked ones; then their targets, by id, skipping locked ones.
-- Returns: the number of rows that were taken.
-- Called by: carillon.roll_up_work; addWork in lib/tick/housekeeping/roll-up-apart.ts, for the parts of a roll-up that has
-- failed.
create or replace function carillon.roll_up_work_rows(p_rows tid[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as materialized (
    delete from carillon.target_work w
    where w.ctid = any (array(select p.ctid from carillon.target_work p where p.ctid = any (p_rows) for update skip locked))
    returning w.target_id, w.jobs, w.ms
  ), worked as materialized (
    select t.target_id, sum(t.jobs) as jobs, sum(t.ms) / sum(t.jobs) as cost_ms from taken t group by t.target_id
  ), free as materialized (
    select t.id from carillon.targets t where t.id in (select w.target_id from worked w) order by t.id for update skip locked
  ), moved as (
    update carillon.targets t set cost_ms = coalesce(t.cost_ms + (w.cost_ms - t.cost_ms) * w.jobs / (w.jobs + 100), w.cost_ms)
    from worked w join free f on f.id = w.target_id where t.id = w.target_id
  )
  select count(*) into v_taken from taken;
  return v_taken;
end $$;

-- Counts a waiting job that becomes skipped or cancelled. Jobs that succeed or die are counted by their
-- settle, or where their lease ends.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_tally_ended, after update on carillon.jobs, for each row that waited and is now
-- skipped or cancelled.
create or replace function carillon.tally_ended() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped, cancelled)
  values (carillon.clock(), case when new.state = 'skipped' then 1 end, case when new.state = 'cancelled' then 1 end);
  return null;
end $$;

-- Counts a job where it is made. Waiting cadence jobs without a `ready_at`, nearly all jobs, are not counted
-- here: the statement that makes them writes one row for all (lib/plan/packed-jobs.ts).
-- Rare changes are counted by triggers, whatever statement makes them. All other rows pay only for the
-- condition of the trigger.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_tally_made, after insert on carillon.jobs, for each row that does not wait, has
-- another kind than cadence, or has a `ready_at`.
create or replace function carillon.tally_made() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, fired, skipped, missed)
  values (carillon.clock(), case when new.state = 'waiting' then 1 end,
    case when new.state = 'skipped' and new.reason <> 'missed' then 1 end, case when new.state = 'skipped' and new.reason = 'missed' then 1 end);
  return null;
end $$;

-- Counts the occurrences of a range that was passed over: as missed if that is the reason, otherwise as
-- skipped.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger passed_over_tally, after insert on carillon.passed_over, for each row.
create or replace function carillon.tally_passed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped, missed)
  values (carillon.clock(), case when new.reason <> 'missed' then new.count end, case when new.reason = 'missed' then new.count end);
  return null;
end $$;

-- Counts the seconds in which the pulses of a shard were passed over, whether a tick, a claim or a sweep
-- writes them. Rows with a count are left out: they are of pulses that a settle has tallied.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger pulses_passed_tally, after insert on carillon.pulses_passed, for each row without a
-- count.
create or replace function carillon.tally_pulses_passed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, pulse_seconds_passed)
  values (carillon.clock(), extract(epoch from new.to_at - new.from_at)::bigint + 1);
  return null;
end $$;

-- Counts by how many a statement changes the number of live schedules, and of held ones among them. Many
-- schedules are written at once, so it writes one row per statement, and none if the numbers stay.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: triggers schedules_tally_made, schedules_tally_changed and schedules_tally_gone, after insert,
-- update and delete on carillon.schedules, for each statement.
create or replace function carillon.tally_schedules() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_schedules int := 0;
  v_held int := 0;
  v_row record;
begin
  if tg_op <> 'DELETE' then
    select count(*) as count, count(n.held_since) as held into v_row from new_schedules n where n.deleted_at is null;
    v_schedules := v_row.count;
    v_held := v_row.held;
  end if;
  if tg_op <> 'INSERT' then
    select count(*) as count, count(o.held_since) as held into v_row from old_schedules o where o.deleted_at is null;
    v_schedules := v_schedules - v_row.count;
    v_held := v_held - v_row.held;
  end if;
  if v_schedules <> 0 or v_held <> 0 then
    insert into carillon.schedule_tallies (schedules, held) values (v_schedules, v_held);
  end if;
  return null;
end $$;

-- Takes a range back from the count of skipped occurrences, when an edit deletes it to decide it again. A
-- purge deletes ranges for their age and takes nothing back: it has set carillon.purging.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger passed_over_tally_withdrawn, after delete on carillon.passed_over, for each row.
create or replace function carillon.tally_unpassed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if current_setting('carillon.purging', true) = 'on' then
    return null;
  end if;
  insert into carillon.tallies (at, skipped) values (carillon.clock(), -old.count);
  return null;
end $$;

-- Takes deleted jobs back from the counts. Only edits delete jobs: those that were made ahead of their time,
-- or left out by a calendar, and are decided again. Old days are dropped as whole tables, which calls no
-- trigger.
-- Locks: none.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger jobs_tally_withdrawn, after delete on carillon.jobs, for each statement.
create or replace function carillon.tally_withdrawn() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, fired, skipped)
  select carillon.clock(), -count(*) filter (where o.state = 'waiting'), -count(*) filter (where o.state = 'skipped') from old_jobs o having count(*) > 0;
  return null;
end $$;

-- Finds since when a parcel of a queue waits to be claimed that was sent and is ready for a minute. Among the p_max
-- parcels whose next message is due first. Left out are pulses, and parcels that no worker can claim.
-- Locks: none.
-- Returns: the earliest instant at which one of them was ready and sent; null if there is none.
-- Called by: carillon.note_tick.
create or replace function carillon.unclaimed_since(p_queue carillon.queue_class, p_now timestamptz, p_max int) returns timestamptz
  language sql stable
  as $$
    select min(greatest(p.ready_at, p.sent_at))
    from (select g.* from carillon.parcels g where g.lane is null order by g.offer_at limit p_max) p
    where p.queue = p_queue and p.lease_until is null and p.offers >= 1 and p.pulse_at is null and p.held_schedule is null
      and greatest(p.ready_at, p.sent_at) <= p_now - interval '1 minute'
      and not exists (select from carillon.quarantine q where q.consumer = 'claim' and q.item = p.id::text)
  $$;
