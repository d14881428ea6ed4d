-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Gives the turn in each of these lanes to the parcel that waits there for it: the parcel leaves the lane's
-- queue and can be claimed now. A lane is left as it is where its next job waits elsewhere or may not pass
-- yet.
-- Locks: the parcels that get a turn. The caller holds the locks of the lanes.
-- Returns: the parcels to be sent.
-- Called by: carillon.leave_lanes, carillon.pass_lanes and carillon.hand_over_lanes as their last statement,
-- and carillon.sweep_lanes once it has the lanes.
create or replace function carillon.free_lanes(p_lanes text[], p_now timestamptz) returns table (id bigint, queue carillon.queue_class)
  language sql volatile
  as $$
    update carillon.parcels p set lane = null, ready_at = p_now, offer_at = p_now + interval '20 seconds', offers = 0
    from unnest(p_lanes) l (lane) cross join lateral (
      select f.parcel_id, f.may_pass from carillon.lane_front(l.lane, p_now) f where l.lane not like 'grouped/%'
      union all
      select f.parcel_id, f.may_pass from carillon.grouped_front(l.lane, p_now) f where l.lane like 'grouped/%') f
    where p.id = f.parcel_id and p.lane = l.lane and f.may_pass
    returning p.id, p.queue
  $$;

-- Brings due jobs of a grouped handler's lane into a claimed parcel that has passed this lane, so that the
-- handler gets the due jobs of the group in one call. Takes up to p_max jobs in due order, from parcels of
-- all shards.
-- Leaves out, for a later claim: jobs of a shard that is being edited; jobs that another transaction has
-- locked; jobs of another queue; jobs that are held, or are past their deadline; rechecks that an edit has ended; cadence jobs of a schedule
-- with an overlap rule, because the caller has not locked that schedule's own lane; jobs of a parcel that is
-- under a lease, held or alone. A claimed parcel that is alone takes no jobs.
-- A parcel that waited in the lane is deleted with its one job. Other parcels keep their lists: a parcel that
-- lists a job with another parcel's id does not own the job.
-- Locks: gates of other shards, shared, by a try; the jobs, with skip locked; then the parcels that waited in
-- the lane, the lane's entries and the claimed parcel. The caller holds the lane, the gate of the claimed
-- parcel's shard and the claimed parcel.
-- Returns: nothing.
-- Called by: carillon.pass_lanes, for each lane of a grouped handler that a job of its parcel has passed.
create or replace function carillon.gather_group(p_parcel carillon.parcels, p_lane text, p_now timestamptz, p_max int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint;
  v_shards smallint[] := array[p_parcel.shard];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_kinds carillon.job_kind[];
  v_ns int[];
begin
  -- The job of this parcel was under way when a worker died: it travels without others.
  if p_parcel.alone then return; end if;
  for v_shard in
    select distinct (select s.shard from carillon.schedules s where s.id = e.schedule_id)
    from (select e.schedule_id from carillon.lane_entries e where e.lane = p_lane and e.due_at <= p_now
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit p_max * 2) e
  loop
    -- The gate comes before the lanes in the lock order, so this is a try and waits for no lock. (Class 2:
    -- the gate.)
    if v_shard <> p_parcel.shard and pg_try_advisory_xact_lock_shared(2, v_shard) then v_shards := v_shards || v_shard; end if;
  end loop;

  select array_agg(g.occurrence), array_agg(g.schedule_id), array_agg(g.kind), array_agg(g.n)
  into v_occurrences, v_schedule_ids, v_kinds, v_ns
  from (
    select e.occurrence, e.schedule_id, e.kind, e.n
    from carillon.lane_entries e
    join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
      and j.state = 'waiting' and j.parcel_id <> p_parcel.id and coalesce(j.ready_at, j.due_at) <= p_now
    join carillon.schedules s on s.id = j.schedule_id and s.lane = e.lane and s.queue = p_parcel.queue and s.shard = any(v_shards)
      and coalesce(s.deleted_at, 'infinity') = 'infinity' and (s.held_since is null or s.held_until <= p_now or j.kind = 'manual')
      -- A recheck of settings that are no longer in force has no place in a delivery: its own claim cancels it.
      and (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version)
      and (j.kind <> 'cadence' or (s.overlap is null and (s.deadline_ms is null or j.attempt > 0 or j.started_at is not null or j.forgiven is not null
        or j.due_at + s.deadline_ms * interval '1 millisecond' >= p_now)))
    where e.lane = p_lane and e.due_at <= p_now
      and not exists (select from carillon.parcels p where p.id = j.parcel_id and (p.lease_until is not null or p.held_schedule is not null or p.alone))
    order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n
    limit p_max
    for no key update of j skip locked) g;
  if v_occurrences is null then return; end if;

  with taken as materialized (
    select j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.parcel_id
    from unnest(v_occurrences, v_schedule_ids, v_kinds, v_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
  ), unparked as (
    delete from carillon.parcels p using taken t where p.id = t.parcel_id and p.lane = p_lane
  ), entering as (
    update carillon.lane_entries e set entered = true from taken t
    where e.lane = p_lane and e.due_at = t.due_at and e.occurrence = t.occurrence and e.schedule_id = t.schedule_id and e.kind = t.kind and e.n = t.n
  ), listed as (
    select k.occurrence, k.schedule_id, coalesce(k.kind, 'cadence') as kind, coalesce(k.n, 0) as n
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = p_parcel.id
    union
    select occurrence, schedule_id, kind, n from taken
  ), packed as (
    select array_agg(occurrence) as occurrences, array_agg(schedule_id) as schedule_ids, array_agg(kind) as kinds, array_agg(n) as ns from listed
  ), filled as (
    update carillon.parcels p set occurrences = k.occurrences, schedule_ids = k.schedule_ids, kinds = k.kinds, ns = k.ns
    from packed k where p.id = p_parcel.id
  )
  update carillon.jobs j set parcel_id = p_parcel.id from taken t
  where j.occurrence = t.occurrence and j.schedule_id = t.schedule_id and j.kind = t.kind and j.n = t.n;
end $$;

-- Finds the parcel that gets the turn in a grouped handler's lane: of the parcels that wait in this lane, the
-- first in due order. Its job is due, and its schedule is neither deleted nor held (a hold does not stop a
-- manual job). The claim of this parcel brings the other due jobs along.
-- Locks: none. The caller holds the lane.
-- Returns: the parcel, with may_pass = true. No row while a job that has entered the lane is under a lease,
-- or if no such parcel waits.
-- Called by: carillon.free_lanes, for lanes of grouped handlers.
create or replace function carillon.grouped_front(p_lane text, p_now timestamptz) returns table (parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    select j.parcel_id, true
    from carillon.lane_entries e cross join lateral (
      select j.parcel_id
      from carillon.jobs j join carillon.parcels p on p.id = j.parcel_id and p.lane = p_lane join carillon.schedules s on s.id = j.schedule_id
      where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
        and coalesce(s.deleted_at, 'infinity') = 'infinity'
        and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j
    where e.lane = p_lane and e.due_at <= p_now and not carillon.lane_is_busy(p_lane, null)
    order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1
  $$;

-- Gives the turns in these lanes, as carillon.free_lanes does, at the time of the call. For TypeScript
-- callers: an edit after its changes to lanes, and the sweep where it goes through the lanes in parts.
-- Locks: the parcels that get a turn. The caller holds the locks of the lanes.
-- Returns: the parcels to be sent.
-- Called by: handOverLanes in lib/parcel/lanes.ts and sweepSome in lib/parcel/sweep-lanes.ts.
create or replace function carillon.hand_over_lanes(p_lanes text[]) returns table (id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
begin
  return query select f.id, f.queue from carillon.free_lanes(p_lanes, carillon.clock()) f;
end $$;

-- Names the lane that all jobs of a schedule pass because of its group: grouped/<handler>/<group> if its
-- handler takes the due jobs of a group together, with grouped/<handler>@<team>/<group> for a schedule that has
-- a team; else group/<group> if the schedule is serial. A schedule of a grouped handler need not be serial.
-- A call of a grouped handler never has the jobs of two teams. Serial jobs exclude each other across teams.
-- Functions of an earlier release leave p_team out, and name the lane of no team.
-- Locks: none.
-- Returns: the name of the lane; null for nearly all schedules.
-- Called by: laneOfRow in lib/schedule/stored/version-rows.ts, for a schedule's row; lockLanesToPass in
-- lib/batch/lock-many.ts, for the lanes to be locked; behind and followOnce in lib/tick/housekeeping/follow-handlers.ts,
-- where a handler has become grouped or stopped being so, or a schedule got a team.
create or replace function carillon.lane_for(p_target text, p_group text, p_serial boolean, p_team int default null) returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_group is null then null
      when exists (select from carillon.targets t where t.name = p_target and t.grouped)
        then 'grouped/' || substr(p_target, 9) || coalesce('@' || p_team, '') || '/' || p_group
      when p_serial then 'group/' || p_group end
  $$;

-- Finds the job that has the turn in a lane that lets one job pass at a time: the lane of a schedule or of a
-- serial group. Of the jobs that have entered it is the first in due order; if none has, the first of all.
-- Several jobs have entered only if they overlapped before that was forbidden.
-- Passes over: jobs of deleted schedules and held jobs, except manual jobs and jobs that have entered and are
-- under a lease; in the lane of a group also a cadence job whose schedule still has an earlier occurrence in
-- the backlog, so that jobs of other schedules do not wait for it.
-- Locks: none. The caller holds the lane.
-- Returns: at most one row. may_pass is false while another job that has entered is under a lease, and for a
-- cadence job that has not entered while the backlog has an earlier occurrence of its schedule.
-- Called by: carillon.pass_lanes (its step `fronts`) and carillon.free_lanes, for all lanes but those of
-- grouped handlers.
create or replace function carillon.lane_front(p_lane text, p_now timestamptz)
  returns table (occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, parcel_id bigint, may_pass boolean)
  language sql stable
  as $$
    with inside as materialized (
      select e.*, j.parcel_id, j.leased
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id, p.lease_until is not null as leased
        from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id left join carillon.parcels p on p.id = j.parcel_id
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
          and (p.lease_until is not null or (coalesce(s.deleted_at, 'infinity') = 'infinity'
            and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual'))) offset 0) j
      where e.lane = p_lane and e.entered
    )
    (select i.occurrence, i.schedule_id, i.kind, i.n, i.parcel_id, not exists (
        select from inside o
        where o.leased and (o.occurrence, o.schedule_id, o.kind, o.n) <> (i.occurrence, i.schedule_id, i.kind, i.n))
      from inside i order by i.due_at, i.occurrence, i.schedule_id, i.kind, i.n limit 1)
    union all
    (select e.occurrence, e.schedule_id, e.kind, e.n, j.parcel_id,
        e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence)
      from carillon.lane_entries e cross join lateral (
        select j.parcel_id
        from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting'
          and coalesce(s.deleted_at, 'infinity') = 'infinity'
          and (s.held_since is null or s.held_until <= p_now or e.kind = 'manual') offset 0) j
      where e.lane = p_lane and not exists (select from inside)
        and (p_lane like 'schedule/%' or e.kind <> 'cadence' or not carillon.owes_before(e.schedule_id, e.occurrence))
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 1)
  $$;

-- Says whether a job that has entered a grouped handler's lane is under a lease in another parcel than
-- p_parcel (null: in any parcel). A job that waits for its next attempt is not under a lease and keeps no
-- other job back.
-- Locks: none. The caller holds the lane.
-- Returns: true if there is such a job.
-- Called by: carillon.pass_lanes (its step `free`), with the claimed parcel; carillon.grouped_front, with
-- null.
create or replace function carillon.lane_is_busy(p_lane text, p_parcel bigint) returns boolean
  language sql stable
  as $$
    select exists (
      select from carillon.lane_entries e cross join lateral (
        select from carillon.jobs j
        join carillon.parcels p on p.id = j.parcel_id and p.lease_until is not null and p.id is distinct from p_parcel
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting' offset 0) j
      where e.lane = p_lane and e.entered)
  $$;

-- Names a schedule's own lane, which its cadence jobs pass if the schedule has an overlap rule.
-- Locks: none.
-- Returns: schedule/<id>.
-- Called by: carillon.leave_lanes, carillon.pass_lanes, carillon.lanes_of and carillon.lock_lanes;
-- laneEntries in lib/parcel/lanes.ts, writeJobs in lib/move/arrive-jobs.ts.
create or replace function carillon.lane_of(p_schedule bigint) returns text
  language sql immutable parallel safe
  as $$ select 'schedule/' || p_schedule $$;

-- Lists the lanes that a job of a schedule passes, in the order in which it waits for them: place 1 is the
-- schedule's own lane, for cadence jobs of a schedule with an overlap rule; place 2 is the lane of its group.
-- Locks: none.
-- Returns: up to two rows; none for nearly all schedules.
-- Called by: carillon.leave_lanes and carillon.pass_lanes, for each of their jobs.
create or replace function carillon.lanes_of(p_schedule bigint, p_kind carillon.job_kind) returns table (lane text, place int)
  language sql stable
  as $$
    select l.lane, l.place
    from carillon.schedules s cross join lateral (values
      (case when s.overlap is not null and p_kind = 'cadence' then carillon.lane_of(s.id) end, 1), (s.lane, 2)) l (lane, place)
    where s.id = p_schedule and l.lane is not null
    -- Keeps this a look-up by id for each job: joined to the calling statement, it would be a walk through
    -- all schedules.
    offset 0
  $$;

-- Takes jobs out of their lanes after the caller has written their outcomes, and gives the turns to the next
-- parcels. A settled job loses its entries. A job that is to be retried keeps them; in the lane of a grouped
-- handler it no longer counts as entered, so that the other jobs of the group go on.
-- An edit may have moved a job to the lane of another group while this waited for the locks. The new lane is
-- locked by a try. If the try fails, the entry stays until the next job enters that lane, and the sweep gives
-- the turn.
-- Locks: the lanes of the jobs; the new lane of a moved job by a try; then the entries and the parcels that
-- get a turn.
-- Returns: the parcels to be sent.
-- Called by: carillon.settle_parcel and carillon.end_lease, for a parcel that has passed lanes;
-- carillon.cancel_superseded and carillon.cancel_jobs, for the jobs that they cancelled; leaveSome in
-- lib/parcel/leave-parcel.ts; endRechecks in lib/edit/end-rechecks.ts.
create or replace function carillon.leave_lanes(p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[], p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
  v_lanes text[];
  v_moved text;
begin
  select array_agg(distinct k.schedule_id) filter (where l.place = 1), array_agg(distinct l.lane) filter (where l.place = 2)
  into v_schedules, v_lanes
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  cross join lateral carillon.lanes_of(k.schedule_id, coalesce(k.kind, 'cadence')) l;
  if v_schedules is null and v_lanes is null then return; end if;
  perform carillon.lock_lanes(v_schedules, v_lanes);
  -- An edit may have had the lanes before this and may have moved a job to the lane of another group. That
  -- lane is out of the lock order here, so this is a try; if it fails, the sweep gives the turn.
  for v_moved in
    select distinct l.lane
    from unnest(p_schedule_ids, p_kinds) k (schedule_id, kind) cross join lateral carillon.lanes_of(k.schedule_id, coalesce(k.kind, 'cadence')) l
    where l.place = 2 and l.lane <> all(coalesce(v_lanes, '{}'))
  loop
    if pg_try_advisory_xact_lock(4, -1 - (hashtext(v_moved) & 1023)) then v_lanes := v_lanes || v_moved; end if;
  end loop;
  v_lanes := coalesce(v_lanes, '{}') || array(select carillon.lane_of(s.id) from unnest(v_schedules) s (id));

  with own as materialized (
    select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, j.state = 'waiting' as waits
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0)
    cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
    where l.lane = any(v_lanes)
  ), outside as (
    update carillon.lane_entries e set entered = false from own o
    where o.waits and o.lane like 'grouped/%' and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  )
  delete from carillon.lane_entries e using own o
  where not o.waits and e.lane = o.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
    and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n;
  return query select f.id, f.queue from carillon.free_lanes(v_lanes, p_now) f;
end $$;

-- Locks the lanes of these schedules, their own (with or without an overlap rule) and those of their groups,
-- and the lanes in p_lanes, which must be lanes of groups. One transaction at a time decides in a lane. What
-- the decision depends on is read by a later statement: the snapshot of this one is older than its locks.
-- Own lanes have 16 keys per shard, so that a parcel of 250 such jobs takes no more locks than that. Lanes of
-- groups reach over shards; they have 1,024 keys below zero. (Class 4: see lib/db/locks.ts.)
-- Locks: these keys, ascending, until the transaction ends.
-- Returns: nothing.
-- Called by: carillon.leave_lanes, carillon.pass_lanes, carillon.sweep_lanes and carillon.cancel_jobs;
-- lockLane and lockLanes in lib/db/locks.ts; sweepSome in lib/parcel/sweep-lanes.ts; deleteTogether in
-- lib/batch/cancel-label.ts; lockLanesToPass in lib/batch/lock-many.ts.
create or replace function carillon.lock_lanes(p_schedules bigint[], p_lanes text[] default null) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_key int;
begin
  for v_key in select (select s.shard * 16 from carillon.schedules s where s.id = k.id) + (hashtext(carillon.lane_of(k.id)) & 15)
               from unnest(p_schedules) k (id)
               union select -1 - (hashtext(s.lane) & 1023) from carillon.schedules s where s.id = any(p_schedules) and s.lane is not null
               union select -1 - (hashtext(l.lane) & 1023) from unnest(p_lanes) l (lane) where l.lane is not null
               order by 1 loop
    perform pg_advisory_xact_lock(4, v_key);
  end loop;
end $$;

-- Writes down which handlers take all due jobs of a group together, as the deployed code says. The last
-- caller wins. Only a value that differs is written. Where it changes an existing target, regrouped_at tells
-- the tick that the handler's schedules have to change their lanes.
-- Locks: the rows of the targets that change, in the order of their names.
-- Returns: nothing.
-- Called by: defineGroups in lib/limit/define-limits.ts, when a function starts.
create or replace function carillon.note_grouped(p_targets text[], p_grouped boolean[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.targets (name, grouped)
    select h.name, h.grouped from unnest(p_targets, p_grouped) h (name, grouped)
    where not exists (select from carillon.targets t where t.name = h.name and t.grouped = h.grouped)
    order by h.name
    on conflict (name) do update set grouped = excluded.grouped, regrouped_at = carillon.clock()
      where targets.grouped <> excluded.grouped
  $$;

-- Says whether the backlog still has a cadence occurrence of this schedule before p_occurrence. Stable, so
-- that it reads by the snapshot of the calling statement: an occurrence is seen in the backlog or as a job,
-- never as neither.
-- Locks: none.
-- Returns: true if it has one.
-- Called by: carillon.lane_front, for cadence jobs that have not entered the lane.
create or replace function carillon.owes_before(p_schedule bigint, p_occurrence timestamptz) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select exists (select from carillon.backlog
      where schedule_id = p_schedule and next_occurrence < p_occurrence and kind = 'cadence')
  $$;

-- Decides for a claim which jobs of its parcel may start, of those that pass lanes or are past their
-- deadline. A job may have two lanes, that of its schedule and that of its group. It passes both at once or
-- none: otherwise two jobs could each have entered one lane and wait for the other.
-- A cadence job that has never started and is past its deadline is skipped (`late`), and so are up to 100 jobs of each schedule with an overlap
-- rule that have become late while they waited in a lane. A job that may not pass is skipped (`overlap`) if
-- its schedule's rule is `skip`, its own lane is not free and it has neither entered nor started; otherwise
-- it moves into a parcel of its own, which waits in the first of its lanes that is not free.
-- If a job passes, the parcel counts as claimed at the moment after the locks, and its lease moves along. A
-- job that has passed a grouped handler's lane brings other due jobs of its group into the parcel, up to 250
-- in all.
-- Locks: the lanes; then parcels that wait in them, entries and jobs; for a grouped handler's lane then as
-- carillon.gather_group. The caller holds the gate of the shard, shared, and the parcel.
-- Returns: the parcels in the same lanes that have got their turn, to be sent.
-- Called by: carillon.claim_parcel, after carillon.cancel_superseded and carillon.set_aside.
create or replace function carillon.pass_lanes(p_parcel carillon.parcels, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_schedules bigint[];
  v_lanes text[];
  v_lane text;
  v_now timestamptz;
begin
  select array_agg(distinct k.schedule_id) filter (where l.place = 1), array_agg(distinct l.lane) filter (where l.place = 2)
  into v_schedules, v_lanes
  from unnest(p_schedule_ids, p_kinds) k (schedule_id, kind) cross join lateral carillon.lanes_of(k.schedule_id, k.kind) l;
  -- The locks come before the decision and the clock: a settle may hold a lane at this moment, and a job that
  -- starts after that settle must have a later start.
  perform carillon.lock_lanes(v_schedules, v_lanes);
  v_now := carillon.clock();

  with late as (
    select j.occurrence, j.schedule_id, j.due_at, j.parcel_id
    from unnest(p_occurrences, p_schedule_ids, p_kinds) k (occurrence, schedule_id, kind)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
      and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.deadline_ms from carillon.schedules s where s.id = j.schedule_id offset 0) s
    where k.kind = 'cadence' and j.attempt = 0 and j.started_at is null and j.forgiven is null and j.due_at + s.deadline_ms * interval '1 millisecond' < v_now
    union all
    -- And jobs that have become late while they waited in a lane. Without the bound, a long queue would be
    -- one long transaction.
    select l.occurrence, l.schedule_id, l.due_at, l.parcel_id
    from unnest(v_schedules) v (id) cross join lateral (
      select s.deadline_ms from carillon.schedules s where s.id = v.id offset 0) s cross join lateral (
      select e.occurrence, e.schedule_id, e.due_at, j.parcel_id
      from carillon.lane_entries e
      join carillon.jobs j on j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting' and j.attempt = 0 and j.started_at is null and j.forgiven is null
      join carillon.parcels p on p.id = j.parcel_id and p.lane is not null
      where e.lane = carillon.lane_of(v.id) and e.due_at < v_now - s.deadline_ms * interval '1 millisecond'
      order by e.due_at, e.occurrence, e.schedule_id, e.kind, e.n limit 100) l
  ), unparked as (
    delete from carillon.parcels p using late l where p.id = l.parcel_id and p.lane is not null
  ), gone as (
    delete from carillon.lane_entries e using late l cross join lateral carillon.lanes_of(l.schedule_id, 'cadence') o
    where e.lane = o.lane and e.due_at = l.due_at and e.occurrence = l.occurrence
      and e.schedule_id = l.schedule_id and e.kind = 'cadence' and e.n = 0
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'late', parcel_id = null, ready_at = null, finished_at = v_now
    from late l where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = 'cadence' and j.n = 0
    returning j.occurrence, j.schedule_id, j.kind, j.n
  )
  insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
  select 'skipped', s.occurrence, s.schedule_id, s.kind, s.n, 0, v_now, v_now, carillon.passed_alone(s.occurrence, 'late')
  from skipped s where (select carillon.tells('skipped'));
  if v_schedules is null and v_lanes is null then return; end if;

  insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
  select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n
  from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
    and j.state = 'waiting' and j.parcel_id = p_parcel.id
  cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
  on conflict do nothing;

  with places as materialized (
    select l.lane, l.place, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, e.entered,
      s.overlap = 'skip' and j.attempt = 0 and j.started_at is null and not e.entered as may_skip
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
    cross join lateral (select s.overlap from carillon.schedules s where s.id = j.schedule_id offset 0) s
    cross join lateral carillon.lanes_of(j.schedule_id, j.kind) l
    join carillon.lane_entries e on e.lane = l.lane and e.due_at = j.due_at
      and e.occurrence = j.occurrence and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n
  ), fronts as materialized (
    select l.lane, f.occurrence, f.schedule_id, f.kind, f.n
    from (select distinct lane from places where lane not like 'grouped/%') l cross join lateral carillon.lane_front(l.lane, v_now) f
    where f.may_pass
  ), free as materialized (
    select l.lane from (select distinct lane from places where lane like 'grouped/%') l where not carillon.lane_is_busy(l.lane, p_parcel.id)
  ), judged as materialized (
    select p.*, p.lane in (select lane from free) or exists (
      select from fronts f where f.lane = p.lane and (f.occurrence, f.schedule_id, f.kind, f.n) = (p.occurrence, p.schedule_id, p.kind, p.n)) as open
    from places p
  ), own as materialized (
    select due_at, occurrence, schedule_id, kind, n, bool_and(open) as passes,
      (array_agg(lane order by place) filter (where not open))[1] as waits_in,
      coalesce(bool_or(may_skip and not open) filter (where place = 1), false) as skippable
    from judged group by 1, 2, 3, 4, 5
  ), entering as (
    update carillon.lane_entries e set entered = true from own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), outlived as (
    -- Earlier entries may be of jobs that are over. They keep no job back, and are deleted here, when the
    -- next job enters.
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) < (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
      and not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')
  ), outlived_inside as (
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where o.passes and not p.entered and e.lane = p.lane and e.entered
      and (e.due_at, e.occurrence, e.schedule_id, e.kind, e.n) > (o.due_at, o.occurrence, o.schedule_id, o.kind, o.n)
      and not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')
  ), marked as (
    update carillon.parcels p set laned = true, claimed_at = v_now, lease_until = p.lease_until + (v_now - p.claimed_at),
      offer_at = p.lease_until + (v_now - p.claimed_at)
    where p.id = p_parcel.id and exists (select from own o where o.passes)
  ), skipped as (
    update carillon.jobs j set state = 'skipped', reason = 'overlap', parcel_id = null, ready_at = null, finished_at = v_now from own o
    where not o.passes and o.skippable and j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
    returning j.occurrence, j.schedule_id, j.kind, j.n
  ), told as (
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
    select 'skipped', s.occurrence, s.schedule_id, s.kind, s.n, 0, v_now, v_now, carillon.passed_alone(s.occurrence, 'overlap')
    from skipped s where (select carillon.tells('skipped'))
  ), gone as (
    delete from carillon.lane_entries e using own o join places p using (due_at, occurrence, schedule_id, kind, n)
    where not o.passes and o.skippable and e.lane = p.lane and e.due_at = o.due_at and e.occurrence = o.occurrence
      and e.schedule_id = o.schedule_id and e.kind = o.kind and e.n = o.n
  ), parked as materialized (
    select nextval('carillon.parcels_id_seq') as id, o.* from own o where not o.passes and not o.skippable
  ), inserted as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, target_id, priority, team_id, owed, alone, made_at, sent_at, occurrences,
      schedule_ids, kinds, ns)
    select p.id, p_parcel.shard, p_parcel.queue, 'infinity', v_now + interval '1 minute', p.waits_in, p_parcel.target_id, p_parcel.priority,
      (select s.team_id from carillon.schedules s where s.id = p.schedule_id), p_parcel.owed, p_parcel.alone, p_parcel.made_at, p_parcel.sent_at, array[p.occurrence], array[p.schedule_id], array[p.kind], array[p.n]
    from parked p
  )
  update carillon.jobs j set parcel_id = p.id from parked p
  where j.occurrence = p.occurrence and j.schedule_id = p.schedule_id and j.kind = p.kind and j.n = p.n;

  for v_lane in
    select distinct j.lane
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns) k (occurrence, schedule_id, kind, n)
    join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.parcel_id = p_parcel.id and j.lane like 'grouped/%'
  loop
    perform carillon.gather_group(p_parcel, v_lane, v_now, greatest(0, 250 - cardinality(p_parcel.occurrences)));
  end loop;

  v_lanes := coalesce(v_lanes, '{}') || array(select carillon.lane_of(s.id) from unnest(v_schedules) s (id));
  return query select f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;
end $$;

-- The safety net of the lanes: gives turns that no claim, settle or edit has given. Looks at up to p_max
-- parcels that wait in a lane and whose time for a look (offer_at) has come. The next look at a parcel that
-- goes on waiting is a minute later, and twice as long after each look, up to 32 minutes.
-- Locks: the lanes of these parcels, then the parcels. The parcels are chosen without a lock, because lanes
-- are locked before the parcels that wait in them.
-- Returns: first a row with the number of parcels looked at and no id; then the parcels to be sent, with
-- looked = 0.
-- Called by: sweepTogether in lib/parcel/sweep-lanes.ts, which goes through the lanes in parts if this fails.
create or replace function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_sort = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcels bigint[];
  v_schedules bigint[];
  v_groups text[];
  v_lanes text[];
begin
  select array_agg(p.id), array_agg(distinct p.schedule_ids[1]) filter (where p.lane like 'schedule/%'),
    array_agg(distinct p.lane) filter (where p.lane not like 'schedule/%'), array_agg(distinct p.lane)
  into v_parcels, v_schedules, v_groups, v_lanes
  from (select * from carillon.parcels where lane is not null and offer_at <= v_now order by offer_at limit p_max) p;
  looked := coalesce(cardinality(v_parcels), 0);
  return next;
  if looked = 0 then return; end if;
  perform carillon.lock_lanes(v_schedules, v_groups);
  return query select 0, f.id, f.queue from carillon.free_lanes(v_lanes, v_now) f;
  update carillon.parcels p set offers = least(p.offers + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(p.offers, 5))
  where p.id = any(v_parcels) and p.lane is not null;
end $$;
