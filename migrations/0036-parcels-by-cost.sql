-- carillon: back to 31
-- How many jobs of a slow target travel together follows what its jobs have cost lately: many quick ones, few that take long.

alter table carillon.targets
  -- So many milliseconds a job has kept one of a worker's places lately; null where none has yet. Whatever else one does besides its
  -- jobs, and the wait for its slowest, is shared out among them.
  add column cost_ms real;

-- What that is made from: one row for each settled parcel of the slow queue, only inserted, until a tick rolls them up.
create table carillon.target_work (
  target_id int not null,
  jobs int not null,
  -- The time from claim to settle, times the places that it took.
  ms float8 not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

-- Of a leased parcel: its worker works so many of its target, this one among them. What they take is shared out among them.
alter table carillon.parcels add column company smallint;

-- Of a slow parcel so many jobs are under way at once at most, as the worker has it (sideBySide in lib/parcel/parcel-queue.ts).
create function carillon.side_by_side() returns int language sql immutable parallel safe as $$ select 10 $$;

-- So many jobs of a target travel together: of a slow one as many as take half a second in the places that they may have. Fewer than
-- there are places would be done no sooner. What nobody knows the cost of fills the places once.
create function carillon.parcel_jobs(p_queue carillon.queue_class, p_concurrency int, p_rate_count int, p_rate_ms int, p_cost_ms real) returns int
  language sql immutable parallel safe
  as $$
    select greatest(1, least(250, case
        when p_queue = 'fast' then p_concurrency
        when p_cost_ms is null then carillon.side_by_side()
        else greatest(p.places, floor(least(p.places * 500 / greatest(p_cost_ms, 0.001), 250))) end,
      p_rate_count::bigint * 1000 / p_rate_ms))::int
    from (select least(carillon.side_by_side(), p_concurrency) as places) p
  $$;

-- So many parcels at most are worked along with one.
create function carillon.company_max() returns int language sql immutable parallel safe as $$ select 9 $$;

-- Some of those that could start at a slow target, whose messages have not come yet or are not needed any more, and that may be worked with others. By a
-- shard that chance begins with, so that two who look find others.
create function carillon.ready_parcels(p_target int, p_now timestamptz, p_max int) returns setof bigint
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_from int := floor(random() * 64);
begin
  -- Nearly always there is none at all.
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

-- Who has a place at a target whose jobs are quick may work some of those along that wait there or could start: so many parcels, 0 for none. There are as
-- many as each of the places would have to work one after the other, and together they take no longer than half a second. A limit counts by the parcel.
create function carillon.company_of(p_parcel carillon.parcels) returns int
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

-- So many places its jobs have had of a worker, while so many of them were under way: a company has all of them together.
create function carillon.places_of(p_parcel carillon.parcels, p_jobs int) returns float8 language sql immutable parallel safe
  as $$
    select case when p_parcel.company > 1 then least(p_jobs * p_parcel.company, carillon.side_by_side())::float8 / p_parcel.company
      else least(p_jobs, coalesce(p_parcel.slots, carillon.side_by_side())) end
  $$;

-- So many jobs of a slow target that nothing but its share bounds take half a second, and are not too many to be held by one worker; null where nobody
-- knows what they cost.
create function carillon.jobs_a_turn(p_cost_ms real) returns int language sql immutable parallel safe
  as $$ select case when p_cost_ms is not null then floor(least(carillon.side_by_side() * 500 / greatest(p_cost_ms, 0.001), 2500))::int end $$;

-- Moves the cost of targets on by what was worked since, at most p_max rows of it; a hundred jobs weigh as much as all before them.
-- Who is locked is left: others come. Returns how many rows it took.
create function carillon.roll_up_work(p_max int) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_taken int;
begin
  with taken as materialized (
    delete from carillon.target_work w
    where w.ctid = any (array(select p.ctid from carillon.target_work p limit p_max for update skip locked))
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

-- Packs a slow parcel full with others of its shard and target that could start as well: those that wait there for their turn, and those that nobody
-- has come for yet. A parcel costs the same whether it holds two jobs or two hundred, and where thousands stand there of two each, that is what they
-- wait for. The caller holds the target's lock, shared where nobody waits there, and the shard's gate. Returns how many jobs it has now; what it took is
-- gone, and so its messages find nothing.
create function carillon.fill_parcel(p_head carillon.parcels, p_size int, p_now timestamptz) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_others bigint[];
  v_jobs int := cardinality(p_head.occurrences);
begin
  -- One that is half full is full enough, and these have no others with them.
  if p_head.lane is not null or p_head.owed is true or p_head.alone is true or v_jobs * 2 > p_size then return v_jobs; end if;
  with near as materialized (
    -- So many in their order are looked at, whichever shards they are of.
    (select p.id, p.shard from carillon.parcels p
      where p.target_id = p_head.target_id and p.turn = 'waits' and coalesce(p.priority, 0) = coalesce(p_head.priority, 0)
        and p.turn_at <= carillon.turn_place(p_now, p_head.priority)
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
      and (p.turn = 'waits' or (p.turn is null and p.lease_until is null and p.ready_at <= p_now))
    for update of p skip locked
  )
  select array_agg(f.id) into v_others
  from (select f.id, sum(f.jobs) over (order by f.place, f.id) as jobs from free f) f
  where f.jobs <= p_size - v_jobs;
  if v_others is null then return v_jobs; end if;
  -- What an edit has taken out of one of them and put into another is listed by both.
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

-- Packs those full whose turns come next. A shard that is being edited is left, by a try of its gate: the gate comes before the target's lock, which
-- is held here.
create function carillon.merge_turns(p_target carillon.targets, p_now timestamptz, p_max bigint) returns void
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

-- As in 0020; of a slow parcel a few jobs are under way at once, however many it holds.
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
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.parcels p where p.target_id = p_target and p.slots is not null;
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
      -- Without those that somebody just takes along.
      select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
      where p.id = any(v_next) and coalesce(p.turn, 'granted') = 'waits' order by p.turn_at, p.id limit v_parcels for update skip locked
    ), placed as materialized (
      -- Of a slow one a few are under way at once, of a fast one all.
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
-- (class 9), and counts on all of them: so never more go on than may. Nobody is let through here where somebody waits, or where it is nearly full. Waited
-- for are a seat and whoever decides about the others (class 6, shared here); and what was locked in vain is let go of: two that held that lock shared
-- and wanted it alone would wait for each other.
create function carillon.find_room(p_target carillon.targets, p_now timestamptz) returns boolean
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
  -- Without a lock at first: where somebody waits, there is nothing to look for.
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if found then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target.id);
  select s into v_seat from generate_series(v_first, v_first + v_seats - 1) s where pg_try_advisory_xact_lock(9, s) limit 1;
  -- Each is had for a claim's time only.
  if v_seat is null then perform pg_advisory_xact_lock(9, v_first + floor(random() * v_seats)::int); end if;
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if not found and v_seats + (select count(*) from carillon.parcels p where p.target_id = p_target.id and p.slots is not null)
    <= carillon.share_now(p_target, p_now)
  then
    return true;
  end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;

-- Whether as many parcels of a target that only its share bounds go on as may.
create function carillon.is_full(p_target carillon.targets, p_now timestamptz) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return (select count(*) from carillon.parcels p where p.target_id = p_target.id and p.slots is not null) >= carillon.share_now(p_target, p_now);
end $$;

-- Has a parcel that nobody has wait where its target is full, and says whether it does. Of the messages of a burst most come to nothing else, so this is to
-- be short, for whoever asks and for all who wait for the target's lock: no lease is given and taken back, and nobody's turn is looked for, since none can
-- have come. Whoever leaves a place decides after this, and sees it. What is larger than its jobs' cost allows is split where it enters.
create function carillon.wait_where_full(p_parcel bigint, p_target int, p_window int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_target carillon.targets;
begin
  select t.* into v_target from carillon.targets t where t.id = p_target and t.concurrency is null and t.rate_count is null and t.share = p_window;
  -- Without a lock at first: where there is room, there is nothing to do.
  if not found or not carillon.is_full(v_target, p_now) then return false; end if;
  -- The parcel before its target, as whoever enters locks them.
  perform from carillon.parcels p
  where p.id = p_parcel and p.target_id = p_target and p.queue = 'slow' and p.ready_at <= p_now and p.lease_until is null and p.turn is null
    and coalesce(p.held_schedule, 0) = 0 and p.pulse_at is null
    and cardinality(p.occurrences) <= carillon.parcel_jobs('slow', null, null, null, v_target.cost_ms) * (case when v_target.cost_ms is null then 1 else 2 end)
  for update skip locked;
  if not found then return false; end if;
  begin
    perform carillon.lock_target(p_target);
    -- A limit or another share may have come since.
    select t.* into v_target from carillon.targets t where t.id = p_target and t.concurrency is null and t.rate_count is null and t.share = p_window;
    if not found or not carillon.is_full(v_target, p_now) then raise sqlstate 'CR009'; end if;
  exception
    -- What was locked in vain is let go of.
    when sqlstate 'CR009' then return false;
  end;
  -- Not within that block: a row that is locked outside of it and written inside would have two transactions to name.
  update carillon.parcels p set turn = 'waits', turn_at = coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)), ready_at = 'infinity',
    offer_at = 'infinity'
  where p.id = p_parcel;
  -- What the disk loses of it, the sweep does again.
  perform set_config('synchronous_commit', 'off', true);
  return true;
end $$;

-- Of those at a target whose turn has come, and whom nobody has yet, one: whoever waits there has its hands free, and that one's own message may stand
-- behind thousands, each of whom would only be told to wait. By chance, so that two who come together are told of two.
create function carillon.granted_parcel(p_target int, p_queue carillon.queue_class, p_now timestamptz) returns bigint
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return (
    select g.id from (
      select p.id from carillon.parcels p
      where p.target_id = p_target and p.slots is not null and p.turn = 'granted' and p.lease_until is null and p.ready_at <= p_now and p.queue = p_queue
      limit 20) g
    order by random() limit 1);
end $$;

-- As in 0020; who goes where nobody waits, and nobody is just deciding, has nobody to give its place to, and keeps nobody waiting. Whoever decides later
-- sees that it has gone.
create or replace function carillon.leave_target(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  if (case when p_parcel.slots is null then not carillon.somebody_waits(p_parcel.target_id) else carillon.nobody_waits(p_parcel.target_id) end)
  then
    return;
  end if;
  return query select * from carillon.next_turns(p_parcel.target_id);
end $$;

-- Whoever waits at a target, and is seen to: one is looked for, however few parcels are believed to be there.
create function carillon.somebody_waits(p_target int) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return exists (select from carillon.parcels p where p.target_id = p_target and p.turn = 'waits');
end $$;

-- That nobody waits at a target, and that nobody can begin to before this transaction is over. False, with nothing locked, where it is not sure.
create function carillon.nobody_waits(p_target int) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  -- Without a lock at first: whoever waits already is seen.
  if carillon.somebody_waits(p_target) then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target);
  if not carillon.somebody_waits(p_target) then return true; end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;

-- The targets at which somebody waits, found by a walk from one to the next.
create function carillon.waiting_targets() returns setof int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_target int := 0;
begin
  loop
    select p.target_id into v_target from carillon.parcels p where p.turn = 'waits' and p.target_id > v_target order by p.target_id limit 1;
    exit when v_target is null;
    return next v_target;
  end loop;
end $$;

-- As in 0020; a slow parcel that is much larger than the cost of its jobs allows by now is split, and takes places for a few.
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
  v_most int;
  v_at_once int;
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
  -- Where nothing but the share bounds it, whoever has been given a turn has its place already, and another may find room without waiting for those
  -- who come and go.
  v_size := carillon.parcel_jobs('slow', null, null, null, v_target.cost_ms);
  if p_parcel.queue = 'slow' and v_target.concurrency is null and v_target.rate_count is null and (p_window is null or v_target.share = p_window)
    and v_jobs <= v_size * (case when v_target.cost_ms is null then 1 else 2 end)
  then
    if p_parcel.turn = 'granted' then
      v_slots := p_parcel.slots;
    elsif carillon.find_room(v_target, p_now) then
      v_slots := least(carillon.fill_parcel(p_parcel, v_size, p_now), carillon.side_by_side());
    end if;
    if v_slots is not null then
      update carillon.parcels p set turn = null, slots = v_slots, turn_at = coalesce(p.turn_at, carillon.turn_place(p_parcel.ready_at, p.priority))
      where p.id = p_parcel.id;
      return query select 'enter', 0, v_slots, null::bigint, null::carillon.queue_class;
      return;
    end if;
  end if;
  perform carillon.lock_target(p_parcel.target_id);
  v_now := carillon.clock();
  update carillon.targets t set share = p_window where t.id = p_parcel.target_id and t.share is distinct from p_window and p_window is not null;
  select t.* into v_target from carillon.targets t where t.id = p_parcel.target_id;
  v_size := carillon.parcel_jobs(p_parcel.queue, v_target.concurrency, v_target.rate_count, v_target.rate_ms, v_target.cost_ms);
  -- A cost that has risen a little splits nothing that was packed by the one before; a limit always does.
  v_most := least(case when v_target.cost_ms is null then 1 else 2 end * v_size,
    carillon.parcel_jobs(p_parcel.queue, v_target.concurrency, v_target.rate_count, v_target.rate_ms, 0));
  v_at_once := case p_parcel.queue when 'fast' then v_most else carillon.side_by_side() end;

  if p_parcel.turn = 'granted' then
    v_slots := p_parcel.slots;
    v_start_at := p_parcel.slot_at + v_target.slipped_ms * interval '1 millisecond';
    v_took := carillon.rate_time(v_target, case when v_jobs > v_most then v_size else v_jobs end);
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
    if v_jobs > v_most then
      perform carillon.split_parcel(p_parcel, v_size, v_size);
      v_jobs := v_size;
    end if;
    v_slots := carillon.direct_slots(p_parcel.target_id, v_jobs, v_now);
    if v_slots > v_at_once then v_slots := v_at_once; end if;
    if v_slots is not null and v_jobs < v_size and p_parcel.queue = 'slow' and v_target.concurrency is null and v_target.rate_count is null then
      v_jobs := carillon.fill_parcel(p_parcel, v_size, v_now);
      v_slots := least(v_jobs, v_at_once);
    end if;
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
      -- Where nothing but its share bounds the target, also whose turn has come ends here, and is claimed as all are that have been given one: the
      -- target is locked no longer than it takes to decide.
      if v_slots is null or (p_parcel.queue = 'slow' and v_target.concurrency is null and v_target.rate_count is null) then
        -- Nobody has begun anything: what the disk loses of it, the sweep does again. And nobody here waits for the disk.
        perform set_config('synchronous_commit', 'off', true);
        -- A message for itself as well: whoever came may have no time left, or not know that it can come again.
        if v_slots is not null then return query select 'freed', 0, null::int, p_parcel.id, p_parcel.queue; end if;
        return query
          select 'held', 0, null::int, case when v_slots is not null then p_parcel.id else carillon.granted_parcel(p_parcel.target_id, p_parcel.queue, v_now) end,
            null::carillon.queue_class;
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
  if v_jobs > least(v_most, case p_parcel.queue when 'fast' then v_slots end) then
    v_jobs := least(v_size, case p_parcel.queue when 'fast' then v_slots end);
    perform carillon.split_parcel(p_parcel, v_jobs, v_size);
  end if;
  update carillon.targets t set busy_until = greatest(t.busy_until, v_now) + carillon.rate_time(t, v_jobs)
  where t.id = p_parcel.target_id and t.rate_count is not null;
  update carillon.parcels p set turn = null, slots = v_slots, slot_at = null, claimed_at = v_now,
    turn_at = coalesce(p.turn_at, carillon.turn_place(p_parcel.ready_at, p.priority)),
    lease_until = p_parcel.lease_until + (v_now - p_parcel.claimed_at), offer_at = p_parcel.lease_until + (v_now - p_parcel.claimed_at)
  where p.id = p_parcel.id;
  return query select 'enter', 0, v_slots, null::bigint, null::carillon.queue_class;
end $$;

-- As in 0030; what a slow parcel has taken is noted for its target.
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
    if v_parcel.queue = 'slow' then
      insert into carillon.target_work (target_id, jobs, ms)
      select v_parcel.target_id, w.jobs,
        greatest(0, extract(epoch from v_now - v_parcel.claimed_at)) * 1000 * least(w.jobs, coalesce(v_parcel.slots, carillon.side_by_side()))
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

revoke execute on function carillon.side_by_side(), carillon.parcel_jobs(carillon.queue_class, int, int, int, real), carillon.roll_up_work(int),
  carillon.fill_parcel(carillon.parcels, int, timestamptz), carillon.merge_turns(carillon.targets, timestamptz, bigint),
  carillon.find_room(carillon.targets, timestamptz), carillon.is_full(carillon.targets, timestamptz),
  carillon.wait_where_full(bigint, int, int, timestamptz), carillon.granted_parcel(int, carillon.queue_class, timestamptz),
  carillon.somebody_waits(int), carillon.nobody_waits(int), carillon.waiting_targets(), carillon.company_max(),
  carillon.company_of(carillon.parcels), carillon.ready_parcels(int, timestamptz, int), carillon.jobs_a_turn(real),
  carillon.places_of(carillon.parcels, int)
  from public;
grant execute on function carillon.side_by_side(), carillon.parcel_jobs(carillon.queue_class, int, int, int, real) to carillon_tick, carillon_api, carillon_handler;
grant execute on function carillon.roll_up_work(int), carillon.waiting_targets() to carillon_tick;
