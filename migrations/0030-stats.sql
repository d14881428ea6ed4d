-- Counts of jobs and of schedules, as small rows that are only inserted and that the tick rolls up: nothing is counted by looking
-- through jobs or schedules, and no row is one that many write.

-- What happened at once: one row for each settled parcel and for each batch of the tick, and one for what happens seldom.
create table carillon.tallies (
  at timestamptz(3) not null,
  -- Jobs made, of every kind, less those that an edit withdrew ahead of their time.
  fired int,
  succeeded int,
  -- Attempts that failed, those of jobs that are dead by it among them.
  failed int,
  dead int,
  cancelled int,
  -- Passed over, some as ranges that nobody counts one by one. Missed ones are not among the skipped.
  skipped bigint,
  missed bigint,
  -- How late jobs started at first: the buckets of carillon.lateness_bucket, and how many are in each.
  late_buckets int[],
  late_jobs int[]
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

create table carillon.minutes (
  minute timestamptz(3) primary key,
  fired bigint not null default 0,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  dead bigint not null default 0,
  cancelled bigint not null default 0,
  skipped bigint not null default 0,
  missed bigint not null default 0
);

create table carillon.minute_lateness (
  minute timestamptz(3) not null,
  bucket int not null,
  jobs bigint not null,
  primary key (minute, bucket)
);

-- How many schedules more, and how many of them held; with a minus sign how many less. One row for each statement that changes them.
create table carillon.schedule_tallies (
  schedules int not null,
  held int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

create table carillon.schedule_counts (
  id boolean primary key default true,
  schedules bigint not null,
  held bigint not null,
  -- When a tick last rolled up what was counted.
  rolled_up_at timestamptz(3),
  constraint schedule_counts_has_one_row check (id)
);

-- A tenth more from bucket to bucket: 0 is below a millisecond, bucket b from 1.1 ^ (b - 1) up to 1.1 ^ b milliseconds.
-- What did not start for the first time has none.
create function carillon.lateness_bucket(p_late interval) returns int
  language sql immutable parallel safe
  as $$ select case when p_late is not null then 1 + floor(ln(greatest(date_part('epoch', p_late) * 1000, 0.95)) / ln(1.1::float8) + 1e-9)::int end $$;

-- Adds up what was tallied so far, at most p_max rows of each kind. Rows that another tick has taken are its own. Returns how many rows
-- it took, and the sums of what it added.
create function carillon.roll_up(p_max int)
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint)
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
      insert into carillon.minutes as m (minute, fired, succeeded, failed, dead, cancelled, skipped, missed)
      select date_trunc('minute', t.at), coalesce(sum(t.fired), 0), coalesce(sum(t.succeeded), 0), coalesce(sum(t.failed), 0),
        coalesce(sum(t.dead), 0), coalesce(sum(t.cancelled), 0), coalesce(sum(t.skipped), 0), coalesce(sum(t.missed), 0)
      from taken t group by 1 order by 1
      on conflict (minute) do update set fired = m.fired + excluded.fired, succeeded = m.succeeded + excluded.succeeded,
        failed = m.failed + excluded.failed, dead = m.dead + excluded.dead, cancelled = m.cancelled + excluded.cancelled,
        skipped = m.skipped + excluded.skipped, missed = m.missed + excluded.missed
    ), placed as (
      insert into carillon.minute_lateness as m (minute, bucket, jobs)
      select date_trunc('minute', t.at), l.bucket, sum(l.jobs) from taken t cross join lateral unnest(t.late_buckets, t.late_jobs) l (bucket, jobs)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set jobs = m.jobs + excluded.jobs
    )
    select greatest(v_schedules, count(*)::int), coalesce(sum(t.fired), 0)::bigint, coalesce(sum(t.succeeded), 0)::bigint,
      coalesce(sum(t.failed), 0)::bigint, coalesce(sum(t.dead), 0)::bigint, coalesce(sum(t.cancelled), 0)::bigint,
      coalesce(sum(t.skipped), 0)::bigint, coalesce(sum(t.missed), 0)::bigint
    from taken t;
end $$;

-- What is seldom is counted where it is written, whoever writes it: the condition of each trigger is all that other rows pay.
create function carillon.tally_made() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, fired, skipped, missed)
  values (carillon.clock(), case when new.state = 'waiting' then 1 end,
    case when new.state = 'skipped' and new.reason <> 'missed' then 1 end, case when new.state = 'skipped' and new.reason = 'missed' then 1 end);
  return null;
end $$;

-- The jobs of the cadence that the tick makes are counted by their batch.
create trigger jobs_tally_made after insert on carillon.jobs for each row
  when (new.state <> 'waiting' or new.kind <> 'cadence' or new.ready_at is not null)
  execute function carillon.tally_made();

create function carillon.tally_ended() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped, cancelled)
  values (carillon.clock(), case when new.state = 'skipped' then 1 end, case when new.state = 'cancelled' then 1 end);
  return null;
end $$;

create trigger jobs_tally_ended after update on carillon.jobs for each row
  when (new.state in ('skipped', 'cancelled') and old.state = 'waiting')
  execute function carillon.tally_ended();

create function carillon.tally_failed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, failed) values (carillon.clock(), 1);
  return null;
end $$;

create trigger attempts_tally_failed after insert on carillon.attempts for each row
  when (new.outcome in ('failed', 'crashed'))
  execute function carillon.tally_failed();

create function carillon.tally_passed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped, missed)
  values (carillon.clock(), case when new.reason <> 'missed' then new.count end, case when new.reason = 'missed' then new.count end);
  return null;
end $$;

create trigger passed_over_tally after insert on carillon.passed_over for each row execute function carillon.tally_passed();

-- Edits alone delete from these: what was made ahead of its time, or left out, and is decided anew. Old days go as whole tables.
create function carillon.tally_withdrawn() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, fired, skipped)
  select carillon.clock(), -count(*) filter (where o.state = 'waiting'), -count(*) filter (where o.state = 'skipped') from old_jobs o having count(*) > 0;
  return null;
end $$;

create trigger jobs_tally_withdrawn after delete on carillon.jobs referencing old table as old_jobs
  for each statement execute function carillon.tally_withdrawn();

create function carillon.tally_unpassed() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.tallies (at, skipped) values (carillon.clock(), -old.count);
  return null;
end $$;

create trigger passed_over_tally_withdrawn after delete on carillon.passed_over for each row execute function carillon.tally_unpassed();

-- Schedules are written many at once: one row for each statement.
create function carillon.tally_schedules() returns trigger
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

create trigger schedules_tally_made after insert on carillon.schedules referencing new table as new_schedules
  for each statement execute function carillon.tally_schedules();
create trigger schedules_tally_changed after update on carillon.schedules referencing old table as old_schedules new table as new_schedules
  for each statement execute function carillon.tally_schedules();
create trigger schedules_tally_gone after delete on carillon.schedules referencing old table as old_schedules
  for each statement execute function carillon.tally_schedules();

-- The triggers have the table locked: nobody writes between this look and the commit.
insert into carillon.schedule_counts (schedules, held)
select count(*), count(held_since) from carillon.schedules where deleted_at is null;

-- As in 0018, and counted.
create or replace function carillon.write_outcomes(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_outcomes text[], p_at timestamptz[], p_retry_ms bigint[], p_errors text[],
    p_classes text[], p_stacks text[], p_reasons text[], p_holds text[], p_versions int[], p_notify text[], p_alone boolean)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  return query
    with results as materialized (
      select r.occurrence, r.schedule_id, r.kind, r.n, r.error, r.class, r.stack, r.reason, r.hold, r.version, s.shard, s.hold_after,
        j.attempt + case when r.outcome = 'back' then 0 else 1 end as attempt,
        case when j.started_at is null and r.outcome <> 'back' and p_parcel.owed is not true then p_parcel.claimed_at - j.due_at end as late,
        case when j.cancel_asked and r.outcome in ('retry', 'crashed', 'back') then 'cancelled' when r.outcome = 'again' then 'succeeded'
          when r.outcome in ('crashed', 'back') then 'retry' else r.outcome end as becomes,
        r.outcome, greatest(p_now, case when r.outcome = 'retry' then coalesce(r.at, p_now + r.retry_ms * interval '1 millisecond') end) as again_at,
        -- An edit came between, or a delete: what it says counts.
        s.deleted_at is not null or coalesce(s.fresh_version, 1) > r.version as outdated,
        case when p_alone then row_number() over (order by r.occurrence, r.schedule_id, r.kind, r.n) else 0 end as seat
      from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors, p_classes, p_stacks, p_reasons, p_holds, p_versions)
        r (occurrence, schedule_id, kind, n, outcome, at, retry_ms, error, class, stack, reason, hold, version)
      join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
      join carillon.schedules s on s.id = r.schedule_id
    ), packed as materialized (
      select r.shard, r.outcome = 'back' as back, date_bin('1 s', r.again_at, 'epoch') as second, r.seat, max(r.again_at) as ready_at,
        nextval('carillon.parcels_id_seq') as id,
        array_agg(r.occurrence order by r.occurrence, r.schedule_id, r.kind, r.n) as occurrences,
        array_agg(r.schedule_id order by r.occurrence, r.schedule_id, r.kind, r.n) as schedule_ids,
        array_agg(r.kind order by r.occurrence, r.schedule_id, r.kind, r.n) as kinds,
        array_agg(r.n order by r.occurrence, r.schedule_id, r.kind, r.n) as ns
      from results r where r.becomes = 'retry' group by 1, 2, 3, 4
    ), updated as (
      update carillon.jobs j set
        state = case r.becomes when 'retry' then 'waiting'::carillon.job_state else r.becomes::carillon.job_state end,
        attempt = r.attempt,
        parcel_id = p.id,
        ready_at = p.ready_at,
        version = case when r.outcome = 'back' then j.version else r.version end,
        started_at = case when r.outcome = 'back' then j.started_at else coalesce(j.started_at, p_parcel.claimed_at) end,
        finished_at = case when r.becomes <> 'retry' then p_now end,
        reason = case when r.becomes = 'dead' then coalesce(r.reason, 'attempts') when r.becomes = 'cancelled' then 'requested'
          when r.outcome = 'again' and r.outdated then 'superseded' else j.reason end,
        error = coalesce(r.error, case when r.outcome in ('back', 'cancelled') then j.error end),
        cancel_asked = null
      from results r left join packed p
        on p.shard = r.shard and p.back = (r.outcome = 'back') and p.second = date_bin('1 s', r.again_at, 'epoch') and p.seat = r.seat and r.becomes = 'retry'
      where j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
    ), counted as (
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_class, stack)
      select r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_parcel.claimed_at,
        case when r.outcome = 'crashed' then least(p_parcel.lease_until, p_now) else p_now end,
        case when r.outcome = 'crashed' or (r.becomes = 'dead' and r.class = 'LeaseEnded') then 'crashed'
          when r.outcome = 'cancelled' then 'cancelled' when r.becomes = 'succeeded' then 'succeeded' else 'failed' end,
        r.error, r.class, r.stack
      from results r where r.outcome <> 'back' and (r.becomes <> 'succeeded' or r.attempt > 1)
    ), died as (
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
      select r.occurrence, r.schedule_id, r.kind, r.n, p_now from results r where r.becomes = 'dead'
      on conflict do nothing
    ), tallied as (
      insert into carillon.tallies (at, succeeded, dead, late_buckets, late_jobs)
      select p_now, sum(t.succeeded), sum(t.dead), array_agg(t.bucket) filter (where t.bucket is not null), array_agg(t.late) filter (where t.bucket is not null)
      from (
        select carillon.lateness_bucket(r.late) as bucket, count(*) filter (where r.becomes = 'succeeded') as succeeded,
          count(*) filter (where r.becomes = 'dead') as dead, count(r.late)::int as late
        from results r group by 1
      ) t having count(t.bucket) > 0 or sum(t.succeeded) > 0 or sum(t.dead) > 0
    ), told as (
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
      select e.event, r.occurrence, r.schedule_id, r.kind, r.n, r.attempt, p_now, p_now + interval '30 seconds',
        case when e.event = 'dead' then jsonb_build_object('reason', coalesce(r.reason, 'attempts')) end
      from results r cross join lateral (values
        (case when r.becomes = 'succeeded' then 'succeeded' when r.becomes = 'dead' then 'dead' end),
        (case when r.outcome in ('retry', 'crashed', 'dead') then 'failed' end)) e (event)
      where e.event = any(p_notify)
    ), dead_runs as (
      select r.schedule_id, max(r.version) as version, max(r.hold_after) as hold_after, count(*)::int as dead
      from results r where r.becomes = 'dead' and r.hold_after is not null and not r.outdated group by r.schedule_id
    ), runs as (
      insert into carillon.failure_runs (schedule_id, failures) select d.schedule_id, d.dead from dead_runs d order by d.schedule_id
      on conflict (schedule_id) do update set failures = failure_runs.failures + excluded.failures
      returning schedule_id, failures
    ), broken as (
      delete from carillon.failure_runs f using results r
      where f.schedule_id = r.schedule_id and r.becomes = 'succeeded' and r.hold_after is not null
        and not exists (select from dead_runs d where d.schedule_id = r.schedule_id)
    ), unwanted as (
      insert into carillon.wanted_holds (schedule_id, version, at, reason)
      select r.schedule_id, max(r.version), p_now, min(r.hold) from results r where r.hold is not null group by r.schedule_id
      union all
      select d.schedule_id, d.version, p_now, f.failures || ' jobs in a row are dead.'
      from dead_runs d join runs f on f.schedule_id = d.schedule_id where f.failures >= d.hold_after
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, owed, alone, occurrences, schedule_ids, kinds, ns)
    select p.id, p.shard, p_parcel.queue, p.ready_at, greatest(p_now + interval '20 seconds', p.ready_at - interval '150 seconds'),
      -- What never started keeps its place at the target.
      p_parcel.target_id, case when p.back then p_parcel.turn_at end, p_parcel.priority, p_parcel.owed,
      case when p.back and (p_alone or p_parcel.alone) then true end, p.occurrences, p.schedule_ids, p.kinds, p.ns
    from packed p
    returning parcels.id, parcels.queue, parcels.ready_at;

  if 'again' = any(p_outcomes) then
    return query select * from carillon.make_rechecks(p_parcel, p_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at);
  end if;
end $$;

-- As in 0018, and counted.
create or replace function carillon.settle_parcel(p_parcel bigint, p_fence int, p_notify text[] default null, p_occurrences timestamptz[] default null,
    p_schedule_ids bigint[] default null, p_kinds carillon.job_kind[] default null, p_ns int[] default null, p_outcomes text[] default null,
    p_at timestamptz[] default null, p_retry_ms bigint[] default null, p_errors text[] default null, p_classes text[] default null,
    p_stacks text[] default null, p_reasons text[] default null, p_holds text[] default null, p_versions int[] default null)
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_parcel carillon.parcels;
begin
  if 'again' = any(p_outcomes) then perform carillon.share_gates(p_schedule_ids); end if;
  v_now := carillon.clock();
  delete from carillon.parcels p where p.id = p_parcel and p.fence = p_fence returning p.* into v_parcel;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if p_outcomes is null then
    with updated as (
      update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, parcel_id = null, ready_at = null, error = null,
        started_at = coalesce(j.started_at, v_parcel.claimed_at), finished_at = v_now
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
      returning j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, j.due_at
    ), tallied as (
      -- Most jobs of a parcel are due at the same instant: by those first, and their few buckets then.
      insert into carillon.tallies (at, succeeded, late_buckets, late_jobs)
      select v_now, sum(t.jobs), array_agg(t.bucket) filter (where t.bucket is not null), array_agg(t.jobs) filter (where t.bucket is not null)
      from (
        select case when d.first and v_parcel.owed is not true then carillon.lateness_bucket(v_parcel.claimed_at - d.due_at) end as bucket,
          sum(d.jobs)::int as jobs
        from (select u.due_at, u.attempt = 1 as first, count(*) as jobs from updated u group by 1, 2) d group by 1
      ) t having count(*) > 0
    )
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome)
    select u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, v_parcel.claimed_at, v_now, 'succeeded'
    from updated u where u.attempt > 1;
    if 'succeeded' = any(p_notify) then
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
      select 'succeeded', j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, v_now, v_now + interval '30 seconds'
      from unnest(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'succeeded' and j.finished_at = v_now;
    end if;
    -- Nearly always there is none at all.
    if exists (select from carillon.failure_runs) then
      delete from carillon.failure_runs f using unnest(v_parcel.schedule_ids) k (schedule_id) where f.schedule_id = k.schedule_id;
    end if;
  else
    return query select true, w.id, w.queue, w.ready_at
      from carillon.write_outcomes(v_parcel, v_now, p_occurrences, p_schedule_ids, p_kinds, p_ns, p_outcomes, p_at, p_retry_ms, p_errors,
        p_classes, p_stacks, p_reasons, p_holds, p_versions, p_notify, false) w;
  end if;

  if v_parcel.target_id is not null then
    return query select true, f.id, f.queue, f.ready_at from carillon.leave_target(v_parcel, v_now) f;
  end if;
  if v_parcel.laned then
    return query select true, f.id, f.queue, v_now
      from carillon.leave_lanes(v_parcel.occurrences, v_parcel.schedule_ids, v_parcel.kinds, v_parcel.ns, v_now) f;
  end if;
end $$;

-- As in 0018, and counted.
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

revoke execute on function carillon.roll_up(int), carillon.tally_made(), carillon.tally_ended(), carillon.tally_failed(), carillon.tally_passed(),
  carillon.tally_withdrawn(), carillon.tally_unpassed(), carillon.tally_schedules(), carillon.lateness_bucket(interval) from public;
grant execute on function carillon.roll_up(int) to carillon_tick;
grant insert on carillon.tallies to carillon_tick, carillon_api, carillon_handler;
grant select on carillon.tallies, carillon.minutes, carillon.minute_lateness, carillon.schedule_tallies, carillon.schedule_counts
  to carillon_tick, carillon_api, carillon_handler;
grant update, delete on carillon.tallies, carillon.schedule_tallies to carillon_tick;
grant insert, update, delete on carillon.minutes, carillon.minute_lateness to carillon_tick;
grant update on carillon.schedule_counts to carillon_tick;
