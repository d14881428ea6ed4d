-- How much of the work one target gets: no more of the slow workers than its share, no more jobs at once and no more starts in a time
-- than its limits say. Who comes when there is no room gives its lease back and waits in the database; whoever leaves hands its room on.

alter table carillon.targets
  -- What the handler's own definition asks for. It is in force unless somebody has set limits through the API.
  add column defined_concurrency int,
  add column defined_rate_count int,
  add column defined_rate_ms int,
  -- Who set the limits through the API, and when; null where they are the definition's.
  add column set_at timestamptz(3),
  add column set_by text,
  -- Of its parcels so many may be under way at once, as the slow workers last said; null where nobody has said so.
  add column share int,
  -- Where it has a rate. Until when the last that started keeps the next one waiting.
  add column busy_until timestamptz(3),
  -- Behind the last start that was given away; all of them, and this, are later by what slipped since.
  add column next_at timestamptz(3),
  add column slipped_ms bigint not null default 0,
  -- Up to when the tick has spread the parcels of a target with a rate.
  add column spread_to timestamptz(3);

-- Read by each claim, to see that there are none.
create index targets_limited on carillon.targets (id) where concurrency is not null or rate_count is not null;

alter table carillon.parcels
  -- Its place among those that wait: when it was ready, a high one as if so ten minutes earlier, a low one as if later.
  add column turn_at timestamptz(3),
  -- Where the target has a rate: when it may start, less what the others had slipped by then.
  add column slot_at timestamptz(3);

-- Read by claims and settles: who waits at a target, in order; and who takes room there. Only of parcels that a target limits.
create index parcels_turns on carillon.parcels (target_id, (coalesce(priority, 0)), turn_at, id) where turn = 'waits';
-- Read by edits: what a new job may travel with.
create index parcels_joined on carillon.parcels (target_id, shard, ready_at) where queue = 'slow' and lease_until is null and turn is null;
create index parcels_slots on carillon.parcels (target_id) include (slots) where slots is not null;

-- So many jobs of a target travel together.
create function carillon.parcel_jobs(p_queue carillon.queue_class, p_concurrency int, p_rate_count int, p_rate_ms int) returns int
  language sql immutable parallel safe
  as $$
    select greatest(1, least(case p_queue when 'fast' then 250 else 10 end, case p_queue when 'fast' then p_concurrency end,
      p_rate_count::bigint * 1000 / p_rate_ms))::int
  $$;

-- The target for which a parcel is kept apart: slow ones always, so that one that hangs is alone with its own; others where limited.
create function carillon.apart_target(p_queue carillon.queue_class, p_target int) returns int
  language sql stable
  as $$
    select case when p_queue = 'slow' or exists (select from carillon.targets t
      where t.id = p_target and (t.concurrency is not null or t.rate_count is not null)) then p_target end
  $$;

-- Whose place is where. A low one is overtaken by what is ready up to twenty minutes later, and by nothing after that.
create function carillon.turn_place(p_ready_at timestamptz, p_priority smallint) returns timestamptz
  language sql immutable parallel safe
  as $$ select p_ready_at + coalesce(p_priority, 0) * interval '10 minutes' $$;

-- One at a time decides who goes on to a target. (Class 6: see lib/db/locks.ts.)
create function carillon.lock_target(p_target int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$ begin perform pg_advisory_xact_lock(6, p_target); end $$;

-- Who waits at a target for nothing but a turn, the first of them: many may wait that are not due yet.
create function carillon.due_turns(p_target int, p_now timestamptz, p_max bigint) returns table (id bigint, jobs int, turn_at timestamptz)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
  as $$
    select f.id, f.jobs, f.turn_at
    from (values (-1), (0), (1)) l (priority) cross join lateral (
      select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
      where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
      order by p.turn_at, p.id limit p_max) f
    order by f.turn_at, f.id limit p_max
  $$;

-- How long the next start waits after so many jobs started together, and how much of that is no matter: messages do not come to the
-- millisecond.
create function carillon.rate_time(p_target carillon.targets, p_jobs int) returns interval
  language sql immutable parallel safe
  as $$ select p_jobs * p_target.rate_ms::float8 / p_target.rate_count * interval '1 millisecond' $$;

create function carillon.rate_slack(p_time interval) returns interval
  language sql immutable parallel safe
  as $$ select least(p_time / 4, interval '1 second') $$;

-- How many parcels of a target may be worked at once, where that is bounded: its share of the workers, but no more than half of what the
-- other targets leave. Several that hang at once leave some to the rest.
create function carillon.share_now(p_target carillon.targets, p_now timestamptz) returns int
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_target.share is not null then least(p_target.share, greatest(1, (2 * p_target.share + 1 - (
      select count(*) from (
        select from carillon.parcels p
        where p.slots is not null and p.queue = 'slow' and p.target_id <> p_target.id and (p.lease_until is not null or p.ready_at <= p_now)
        limit 2 * p_target.share) others)) / 2))::int end
  $$;

-- Gives those that wait at a target what room there is, in order, each with the time at which it may start; at a rate no further ahead
-- than two minutes, so that who comes later may still come before others. The target is locked. Returns the parcels to be sent.
create function carillon.grant_turns(p_target int, p_now timestamptz, p_max int)
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
begin
  select t.* into v_target from carillon.targets t where t.id = p_target;
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.parcels p where p.target_id = p_target and p.slots is not null;
  v_parcels := least(p_max, carillon.share_now(v_target, p_now) - v_parcels);
  v_slots := v_target.concurrency - v_slots;
  v_job_ms := v_target.rate_ms::float8 / v_target.rate_count;
  v_from := greatest(p_now, v_target.busy_until, v_target.next_at + v_target.slipped_ms * interval '1 millisecond');
  if v_parcels <= 0 or v_slots <= 0 then return; end if;

  return query
    with first as materialized (
      select d.* from carillon.due_turns(p_target, p_now, v_parcels) d
    ), placed as materialized (
      select f.id, f.jobs, sum(f.jobs) over (order by f.turn_at, f.id) - f.jobs as ahead from first f
    ), starting as materialized (
      select l.id, l.jobs, least(l.jobs, coalesce(v_slots - l.ahead, l.jobs)) as slots,
        case when v_job_ms is null then p_now else v_from + l.ahead * v_job_ms * interval '1 millisecond' end as start_at
      from placed l where coalesce(l.ahead < v_slots, true)
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

-- Leaves a parcel its first jobs; the others wait at its target in parcels of so many, at its place.
create function carillon.split_parcel(p_parcel carillon.parcels, p_keep int, p_size int) returns void
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
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, owed, occurrences, schedule_ids, kinds, ns)
    select c.id, p_parcel.shard, p_parcel.queue, 'infinity', 'infinity', p_parcel.target_id, 'waits',
      coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)), p_parcel.priority, p_parcel.owed,
      p_parcel.occurrences[c.first : c.last], p_parcel.schedule_ids[c.first : c.last], p_parcel.kinds[c.first : c.last], p_parcel.ns[c.first : c.last]
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

-- As in 0018. `freed`: others whose turn has come by this look, to be sent.
create or replace function carillon.enter_target(p_parcel carillon.parcels, p_window int, p_now timestamptz)
  returns table (outcome text, wait_ms int, slots int, freed bigint, freed_queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_target carillon.targets;
  v_now timestamptz;
  v_size int;
  v_jobs int := cardinality(p_parcel.occurrences);
  v_start_at timestamptz;
  v_took interval;
  v_slots int;
  v_turn record;
begin
  select t.* into v_target from carillon.targets t where t.id = p_parcel.target_id;
  if p_window is null and v_target.concurrency is null and v_target.rate_count is null and p_parcel.turn is null then
    return query select 'enter', 0, null::int, null::bigint, null::carillon.queue_class;
    return;
  end if;
  perform carillon.lock_target(p_parcel.target_id);
  v_now := carillon.clock();
  update carillon.targets t set share = p_window where t.id = p_parcel.target_id and t.share is distinct from p_window and p_window is not null;
  select t.* into v_target from carillon.targets t where t.id = p_parcel.target_id;
  v_size := carillon.parcel_jobs(p_parcel.queue, v_target.concurrency, v_target.rate_count, v_target.rate_ms);

  if p_parcel.turn = 'granted' then
    v_slots := p_parcel.slots;
    v_start_at := p_parcel.slot_at + v_target.slipped_ms * interval '1 millisecond';
    v_took := carillon.rate_time(v_target, least(v_jobs, v_size));
    -- Whoever comes late to a start takes the next there is, and all behind are later by that: else they would overtake, or be too many at
    -- once.
    if v_start_at <= v_now and v_target.busy_until > v_now + carillon.rate_slack(v_took) then
      update carillon.targets t set slipped_ms = t.slipped_ms + (extract(epoch from t.busy_until - v_start_at) * 1000)::bigint
      where t.id = p_parcel.target_id;
      v_start_at := v_target.busy_until;
    elsif v_start_at < v_now - carillon.rate_slack(v_took) then
      update carillon.targets t set slipped_ms = t.slipped_ms + (extract(epoch from v_now - v_start_at) * 1000)::bigint
      where t.id = p_parcel.target_id;
    end if;
  else
    if v_jobs > v_size then
      perform carillon.split_parcel(p_parcel, v_size, v_size);
      v_jobs := v_size;
    end if;
    v_slots := carillon.direct_slots(p_parcel.target_id, v_jobs, v_now);
    if v_slots is null then
      update carillon.parcels p set turn = 'waits', turn_at = coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)), ready_at = 'infinity',
        offer_at = 'infinity', lease_until = null, claimed_at = null
      where p.id = p_parcel.id;
      for v_turn in select g.* from carillon.grant_turns(p_parcel.target_id, v_now, 200) g loop
        if v_turn.id = p_parcel.id then
          v_start_at := v_turn.ready_at;
        else
          return query select 'freed', (extract(epoch from v_turn.ready_at - v_now) * 1000)::int, null::int, v_turn.id, v_turn.queue;
        end if;
      end loop;
      select p.slots::int into v_slots from carillon.parcels p where p.id = p_parcel.id;
      if v_slots is null then
        return query select 'held', 0, null::int, null::bigint, null::carillon.queue_class;
        return;
      end if;
    end if;
  end if;
  if v_start_at > v_now then
    update carillon.parcels p set ready_at = v_start_at, offer_at = greatest(v_now + interval '20 seconds', v_start_at - interval '150 seconds'),
      lease_until = null, claimed_at = null
    where p.id = p_parcel.id;
    return query select 'early', ceil(extract(epoch from v_start_at - v_now) * 1000)::int, null::int, null::bigint, null::carillon.queue_class;
    return;
  end if;
  -- Slow ones are begun one after the other, so many at once; fast ones leave together.
  if v_jobs > least(v_size, case p_parcel.queue when 'fast' then v_slots end) then
    perform carillon.split_parcel(p_parcel, least(v_size, case p_parcel.queue when 'fast' then v_slots end), v_size);
  end if;
  update carillon.targets t set busy_until = greatest(t.busy_until, v_now) + carillon.rate_time(t, least(v_jobs, v_size, case p_parcel.queue when 'fast' then v_slots end))
  where t.id = p_parcel.target_id and t.rate_count is not null;
  update carillon.parcels p set turn = null, slots = v_slots, slot_at = null, claimed_at = v_now,
    turn_at = coalesce(p.turn_at, carillon.turn_place(p_parcel.ready_at, p.priority)),
    lease_until = p_parcel.lease_until + (v_now - p_parcel.claimed_at), offer_at = p_parcel.lease_until + (v_now - p_parcel.claimed_at)
  where p.id = p_parcel.id;
  return query select 'enter', 0, v_slots, null::bigint, null::carillon.queue_class;
end $$;

-- For a parcel that finds room and nobody before it: so many of its jobs may be under way at once, and its start counts at the target's
-- rate. Null where it must wait.
create function carillon.direct_slots(p_target int, p_jobs int, p_now timestamptz) returns int
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
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.parcels p where p.target_id = p_target and p.slots is not null;
  if v_parcels >= carillon.share_now(v_target, p_now) or v_slots >= v_target.concurrency then return null; end if;
  if v_target.rate_count is not null then
    v_took := carillon.rate_time(v_target, p_jobs);
    v_next_at := coalesce(greatest(v_target.busy_until, v_target.next_at + v_target.slipped_ms * interval '1 millisecond'), p_now);
    if v_next_at > p_now + carillon.rate_slack(v_took) then return null; end if;
    update carillon.targets t set next_at = greatest(v_next_at, p_now) + v_took - t.slipped_ms * interval '1 millisecond' where t.id = p_target;
  end if;
  return least(p_jobs, coalesce(v_target.concurrency - v_slots, p_jobs));
end $$;

create or replace function carillon.leave_target(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  -- Nobody has counted on one that took no room.
  if p_parcel.slots is null and not exists (select from carillon.parcels p where p.target_id = p_parcel.target_id and p.turn = 'waits') then return; end if;
  return query select * from carillon.next_turns(p_parcel.target_id);
end $$;

-- Whose turn has come at a target by now: what a settle asks for, and the sweep, should whoever knew of it have died.
create function carillon.next_turns(p_target int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.lock_target(p_target);
  return query select * from carillon.grant_turns(p_target, carillon.clock(), 200);
end $$;

-- After a target's limits have changed: whoever was given a turn and has not taken it yet waits again, what was spread by the old rate is
-- ready when it is due, and turns are given by the new limits. Those that come for theirs at this very moment keep it. Returns the parcels
-- to be sent.
create function carillon.renew_turns(p_target int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_now timestamptz;
begin
  perform carillon.lock_target(p_target);
  v_now := carillon.clock();
  update carillon.parcels p set turn = 'waits', slots = null, slot_at = null, ready_at = 'infinity', offer_at = 'infinity'
  where p.id in (select g.id from carillon.parcels g
    where g.target_id = p_target and g.slots is not null and g.turn = 'granted' and g.lease_until is null for update skip locked);
  update carillon.parcels p set turn = case when d.due_at <= v_now then 'waits'::carillon.parcel_turn end,
    ready_at = case when d.due_at <= v_now then 'infinity' else d.due_at end,
    offer_at = case when d.due_at <= v_now then 'infinity' else greatest(v_now + interval '20 seconds', d.due_at - interval '150 seconds') end
  from (select g.id, g.turn_at - coalesce(g.priority, 0) * interval '10 minutes' as due_at from carillon.parcels g
    where g.target_id = p_target and g.turn is null and g.turn_at is not null and g.lease_until is null and g.held_schedule is null and g.lane is null
    for update skip locked) d
  where p.id = d.id;
  update carillon.targets t set busy_until = null, next_at = null, slipped_ms = 0, spread_to = null where t.id = p_target;
  return query select * from carillon.grant_turns(p_target, v_now, 200);
end $$;

-- Spreads new parcels of a target with a rate, which are not sent yet, over the time that its jobs will take: in order, behind those spread
-- before, high ones before those. Returns them to be sent.
create function carillon.spread_parcels(p_target int, p_parcels bigint[])
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
      select p.id, p.ready_at, coalesce(p.priority, 0) as priority, cardinality(p.occurrences) * v_target.rate_ms::float8 / v_target.rate_count as took_ms
      from carillon.parcels p where p.id = any(p_parcels) and p.target_id = p_target and p.lease_until is null and p.turn is null and p.offers = 0
    ), summed as (
      select f.*, coalesce(sum(f.took_ms) over place, 0) as ahead_ms from fresh f
      window place as (partition by f.priority < 0 order by carillon.turn_place(f.ready_at, f.priority::smallint), f.id
        rows between unbounded preceding and 1 preceding)
    ), spread as materialized (
      -- Each starts when it is ready, or when all before it have had their time since the last of them that waited for nobody.
      select s.*, s.ahead_ms * interval '1 millisecond' + max(greatest(s.ready_at, v_now,
        case when s.priority < 0 then v_target.next_at + v_target.slipped_ms * interval '1 millisecond' else v_target.spread_to end)
          - s.ahead_ms * interval '1 millisecond') over (partition by s.priority < 0 order by carillon.turn_place(s.ready_at, s.priority::smallint), s.id) as start_at
      from summed s
    ), noted as (
      update carillon.targets t set spread_to = greatest(t.spread_to, l.until)
      from (select max(s.start_at + s.took_ms * interval '1 millisecond') as until from spread s where s.priority >= 0) l
      where t.id = p_target and l.until is not null
    )
    update carillon.parcels p set ready_at = coalesce(s.start_at, s.ready_at), turn_at = carillon.turn_place(s.ready_at, p.priority),
      offer_at = greatest(v_now + interval '20 seconds', coalesce(s.start_at, s.ready_at) - interval '150 seconds')
    from spread s where p.id = s.id
    returning p.id, p.queue, p.ready_at;
end $$;

-- Takes over what the handlers' definitions say, where that is news; what the API has set stays in force. A handler that is not named any
-- more has no limits of its own.
create function carillon.define_limits(p_names text[], p_concurrency int[], p_rate_counts int[], p_rate_ms int[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_new record;
  v_count int := 0;
begin
  for v_new in
    select coalesce(d.name, t.name) as name, d.concurrency, d.rate_count, d.rate_ms
    from unnest(p_names, p_concurrency, p_rate_counts, p_rate_ms) d (name, concurrency, rate_count, rate_ms)
    full join (select * from carillon.targets where name like 'handler/%') t on t.name = d.name
    where (d.concurrency, d.rate_count, d.rate_ms) is distinct from (t.defined_concurrency, t.defined_rate_count, t.defined_rate_ms)
    order by 1
  loop
    perform carillon.lock_target(carillon.target_named(v_new.name));
    update carillon.targets t set defined_concurrency = v_new.concurrency, defined_rate_count = v_new.rate_count, defined_rate_ms = v_new.rate_ms,
      concurrency = case when t.set_at is null then v_new.concurrency else t.concurrency end,
      rate_count = case when t.set_at is null then v_new.rate_count else t.rate_count end,
      rate_ms = case when t.set_at is null then v_new.rate_ms else t.rate_ms end
    where t.name = v_new.name;
    -- What gets its turn by that the sweep sends.
    perform from carillon.renew_turns(carillon.target_named(v_new.name));
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- As in 0011; what is not of the parcel's target, or of a target that is limited now, goes on in parcels of its own, with all that the parcel
-- stands for. Returns those that are ready, to be sent.
drop function carillon.set_aside(carillon.parcels, timestamptz);

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
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, target_id, turn_at, priority, owed, alone, occurrences, schedule_ids, kinds, ns)
      -- In time for a message to come when it is ready: so long, and a sweep's minute, the queue lets it wait.
      select id, p_parcel.shard, queue, ready_at, greatest(p_now, ready_at - interval '150 seconds'), held, target_id,
        case when held is null then coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)) end, p_parcel.priority, p_parcel.owed, p_parcel.alone,
        occurrences, schedule_ids, kinds, ns
      from packed
    ), moved as (
      update carillon.jobs j set parcel_id = p.id, ready_at = p.ready_at
      from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      -- Not where a claim for its whole group has taken it along at this moment.
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
    )
    select p.id, p.queue from packed p where p.ready_at <= p_now order by p.id;
end $$;

-- Puts the one job of a new slow parcel with others of its target, shard and quarter of a second, where there are some that nobody has
-- taken yet: jobs made one by one need no message each. True where it was; then the parcel is gone.
create function carillon.join_parcel(p_parcel bigint) returns boolean
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
    and p.priority is not distinct from v_new.priority and cardinality(p.occurrences) < 10 and p.id <> p_parcel
    -- One that still lists what an edit has taken back of this schedule would list the job twice.
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

revoke execute on function carillon.join_parcel(bigint), carillon.share_now(carillon.targets, timestamptz), carillon.parcel_jobs(carillon.queue_class, int, int, int), carillon.apart_target(carillon.queue_class, int),
  carillon.turn_place(timestamptz, smallint), carillon.lock_target(int), carillon.grant_turns(int, timestamptz, int),
  carillon.due_turns(int, timestamptz, bigint),
  carillon.rate_time(carillon.targets, int), carillon.rate_slack(interval),
  carillon.split_parcel(carillon.parcels, int, int), carillon.direct_slots(int, int, timestamptz), carillon.next_turns(int),
  carillon.renew_turns(int), carillon.spread_parcels(int, bigint[]), carillon.define_limits(text[], int[], int[], int[]),
  carillon.set_aside(carillon.parcels, timestamptz, int[])
  from public;
grant execute on function carillon.parcel_jobs(carillon.queue_class, int, int, int), carillon.apart_target(carillon.queue_class, int),
  carillon.turn_place(timestamptz, smallint) to carillon_tick, carillon_api, carillon_handler;
grant execute on function carillon.next_turns(int), carillon.spread_parcels(int, bigint[]) to carillon_tick;
grant execute on function carillon.lock_target(int), carillon.renew_turns(int), carillon.define_limits(text[], int[], int[], int[]) to carillon_api;
grant execute on function carillon.define_limits(text[], int[], int[], int[]) to carillon_worker;
grant update on carillon.targets to carillon_api;
grant execute on function carillon.join_parcel(bigint) to carillon_api, carillon_handler;
