-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Gives the target for which a parcel is kept apart, so that it carries jobs of this target only. A slow
-- parcel always is: a target that hangs is alone with its own jobs. A fast parcel is if its target has
-- limits.
-- Locks: none.
-- Returns: the target; null where jobs of several targets may travel together.
-- Called by: carillon.retry_jobs; admitTurns in lib/plan/backlog.ts, makeJob in lib/job-control/fire-now.ts and
-- fireReleases in lib/plan/release.ts, where they make parcels; carillon.name_backlog_line,
-- carillon.move_backlog, fullLineOf in lib/plan/backlog-room.ts and readFullBacklog in
-- lib/problems/full-backlog.ts, for rows of the backlog.
create or replace function carillon.apart_target(p_queue carillon.queue_class, p_target int) returns int
  language sql stable
  as $$
    select case when p_queue = 'slow' or exists (select from carillon.targets t
      where t.id = p_target and (t.concurrency is not null or t.rate_count is not null)) then p_target end
  $$;

-- Takes over the limits that the deployed handlers define, where they differ from those stored. They come
-- into force unless limits were set through the API. A handler that is not in p_names has no defined limits
-- any more. Turns at a changed target are given again; the sweep sends the parcels that get one.
-- Locks: for each target that changes, in the order of names: the target, its row, and its parcels as
-- carillon.renew_turns does.
-- Returns: the number of targets that have changed.
-- Called by: defineLimits in lib/limit/define-limits.ts, when a function starts.
create or replace function carillon.define_limits(p_names text[], p_concurrency int[], p_rate_counts int[], p_rate_ms int[]) returns int
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
    -- The sweep sends the parcels that get a turn here.
    perform from carillon.renew_turns(carillon.target_named(v_new.name));
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- Decides whether a parcel may go on to its target without a turn: no due parcel waits there, the share and
-- the concurrency have room, the team has fewer places than one team may, workers may take one more parcel of
-- the team, and a rate allows the next start by now, within carillon.rate_slack. At a target with a rate it counts
-- the start.
-- Locks: a seat of the team, as carillon.team_has_room; the target's row, if it has a rate. The caller holds the target, exclusively.
-- Returns: how many of the parcel's jobs may be under way at once; null if the parcel must wait.
-- Called by: carillon.enter_target, for a parcel that has no turn.
create or replace function carillon.direct_slots(p_target int, p_team int, p_jobs int, p_now timestamptz) returns int
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_target carillon.targets;
  v_parcels bigint;
  v_slots bigint;
  v_own bigint;
  v_next_at timestamptz;
  v_took interval;
begin
  perform from carillon.due_turns(p_target, p_now, 1);
  if found then return null; end if;
  select t.* into v_target from carillon.targets t where t.id = p_target;
  select count(*), coalesce(sum(p.slots), 0), coalesce(sum(p.slots) filter (where coalesce(p.team_id, 0) = coalesce(p_team, 0)), 0)
  into v_parcels, v_slots, v_own from carillon.taken_places p where p.target_id = p_target;
  if v_parcels >= carillon.share_now(v_target, p_now) or v_slots >= v_target.concurrency or v_own >= v_target.per_team
    or not carillon.team_has_room(p_team, v_target.share, p_now)
  then
    return null;
  end if;
  if v_target.rate_count is not null then
    v_took := carillon.rate_time(v_target, p_jobs);
    v_next_at := coalesce(greatest(v_target.busy_until, v_target.next_at + v_target.slipped_ms * interval '1 millisecond'), p_now);
    if v_next_at > p_now + carillon.rate_slack(v_took) then return null; end if;
    update carillon.targets t set next_at = greatest(v_next_at, p_now) + v_took - t.slipped_ms * interval '1 millisecond' where t.id = p_target;
  end if;
  return least(p_jobs, v_target.concurrency - v_slots, v_target.per_team - v_own);
end $$;

-- Says how many claims may look for room at once, each with a seat of its own (carillon.take_seat): a quarter of
-- the share of a target. Each counts all seats as taken, so more seats would leave more room unused.
-- Locks: none.
-- Returns: the number, at least one.
-- Called by: carillon.take_seat, carillon.find_room, carillon.team_has_room and carillon.team_targets.
create or replace function carillon.seats_of(p_share int) returns int
  language sql immutable parallel safe
  as $$ select greatest(1, p_share / 4) $$;
-- Takes one of the seats of a target or a team, for a claim that looks for room there beside others. The claim
-- keeps it until its transaction ends or the caller's block fails. A read of the places must come in a later
-- statement, to see those of claims that have committed meanwhile.
-- Locks: a seat, which is a lock of this class: 9 for a target, 12 for a team. It may be waited for.
-- Returns: nothing.
-- Called by: carillon.find_room and carillon.team_has_room.
create or replace function carillon.take_seat(p_class int, p_id int, p_share int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_seats int := carillon.seats_of(p_share);
  v_first int := p_id % 1000000 * 1000;
begin
  perform from generate_series(v_first, v_first + v_seats - 1) s where pg_try_advisory_xact_lock(p_class, s) limit 1;
  -- All seats are taken: wait for one of them.
  if not found then perform pg_advisory_xact_lock(p_class, v_first + floor(random() * v_seats)::int); end if;
end $$;
-- Says how far ahead a team's parcels get their starts at a target with a rate: a parcel of another team that comes
-- next is behind all that have a start.
-- Locks: none.
-- Returns: the time.
-- Called by: carillon.grant_turns; carillon.spread_parcels.
create or replace function carillon.team_ahead() returns interval
  language sql immutable parallel safe
  as $$ select interval '5 seconds' $$;
-- Says how many more parcels of each of these teams slow workers may take: a team may have three quarters of the
-- workers that parcels of others leave, and at least one. Otherwise a team with many targets that hang would have a
-- place at each of them, and so all workers. The share of a target is assumed to be half of all workers.
-- Locks: none.
-- Returns: the number for each team, 0 or less if it has as many as it may.
-- Called by: carillon.due_turns, carillon.team_has_room, carillon.is_full and carillon.team_targets.
create or replace function carillon.team_rooms(p_teams int[], p_share int, p_now timestamptz) returns table (team int, room int)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    with places as materialized (
      select p.team_id, p.lease_until is not null or p.ready_at <= p_now as works from carillon.taken_places p
      where p.queue = 'slow' and (p.lease_until is not null or p.ready_at <= p_now or p.team_id = any(p_teams))
      limit 4 * p_share
    )
    select t.team, greatest(1, (2 * p_share - count(*) filter (where k.works and k.team_id is distinct from t.team)) * 3 / 4)::int
      - (count(*) filter (where k.team_id = t.team))::int
    from unnest(p_teams) t (team) left join places k on true group by t.team
  $$;
-- Decides whether slow workers may take one more parcel of a team (carillon.team_rooms), beside other claims that
-- decide the same at this moment. Each takes a seat (carillon.take_seat, class 12) and counts all seats as taken, so
-- that never more parcels go on than the team may have, whatever targets they are for.
-- Locks: a seat of the team, which may be waited for, until the transaction ends or the caller's block fails.
-- Returns: true if they may; also for a parcel without a team.
-- Called by: carillon.find_room and carillon.direct_slots, for a slow target.
create or replace function carillon.team_has_room(p_team int, p_share int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if p_team is null or p_share is null then return true; end if;
  perform carillon.take_seat(12, p_team, p_share);
  return (select r.room from carillon.team_rooms(array[p_team], p_share, p_now) r) >= carillon.seats_of(p_share);
end $$;
-- Lists targets at which parcels of a team wait, after a slow parcel of the team has given up its place at
-- another target. Where the team had as many places as it may (carillon.team_rooms), the place may be for any of
-- these targets, and no settle there may come for long. The search goes on from the parcel's target, so that each
-- of many targets has its turn.
-- Locks: none.
-- Returns: the ids of four targets at most; none if the team may have further places all the same.
-- Called by: carillon.leave_target; carillon.settle_parcels.
create or replace function carillon.team_targets(p_parcel carillon.parcels, p_now timestamptz) returns setof int
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_share int;
  v_target int := p_parcel.target_id;
  v_wrapped boolean := false;
  v_found int := 0;
begin
  if p_parcel.queue <> 'slow' or p_parcel.team_id is null or p_parcel.slots is null then return; end if;
  loop
    select p.target_id into v_target from carillon.parcels p
    where p.team_id = p_parcel.team_id and p.turn = 'waits' and p.queue = 'slow' and p.target_id > v_target order by p.target_id limit 1;
    if v_target is null and not v_wrapped then
      v_wrapped := true;
      v_target := 0;
      continue;
    end if;
    exit when v_target is null or (v_wrapped and v_target >= p_parcel.target_id);
    if v_found = 0 then
      select t.share into v_share from carillon.targets t where t.id = p_parcel.target_id;
      exit when v_share is null or (select r.room from carillon.team_rooms(array[p_parcel.team_id], v_share, p_now) r) > carillon.seats_of(v_share);
    end if;
    v_found := v_found + 1;
    return next v_target;
    exit when v_found = 4;
  end loop;
end $$;
-- Lists the first parcels that wait at a target for nothing but a turn, in the order of turns, p_max at most.
-- Each priority is read by itself, in the order of the index and only up to now: many parcels may wait that
-- are not due yet.
-- Parcels of one team come in the order of their places (carillon.turn_place), and so do those with jobs of
-- several teams or of none, which are one line together. Of these lines, next is the one with the fewest places
-- at the target for its weight, and where none has a place, a draw: each line is next as often as its weight
-- says. Since when parcels wait must not decide, or a team with a long backlog would keep all others waiting
-- until it is done. The draw of a millisecond is always the same, so that calls of one transaction agree.
-- Reads 32 teams of a priority at most, as thousands may wait: the first 16 before and the first 16 after a
-- team that is another one in each millisecond. Of each team as many slow parcels are listed as workers may
-- take (carillon.team_rooms); with p_company, for a worker that has a parcel, all of them.
-- A team (or the line without one) that has as many places as one team may (targets.per_team) is passed over, and its
-- parcels are not read. Of another team as many parcels are listed as may use the places that it may still take.
-- Leaves out parcels that are set aside because they cannot be written: with them in the list, no parcel
-- behind them would ever have a turn. Whether any parcel is set aside is asked once, of an index that is
-- nearly always empty.
-- Locks: none.
-- Returns: the parcels in their order, with the number of their jobs.
-- Called by: carillon.grant_turns and carillon.merge_turns, for the parcels whose turns come next;
-- carillon.direct_slots and carillon.find_room, to see whether one waits; carillon.claim_company, for parcels
-- to take along.
create or replace function carillon.due_turns(p_target int, p_now timestamptz, p_max bigint, p_company boolean default false) returns table (id bigint, jobs int)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
declare
  v_share int;
  v_per_team int;
  -- The teams that have places, how many more each may take, and the teams that may take none. A team may have more
  -- than it may, since its limit was lowered.
  v_teams int[];
  v_rooms int[];
  v_full int[] := '{}';
  v_ms bigint := (extract(epoch from p_now) * 1000)::bigint;
begin
  select case when not p_company then t.share end, t.per_team into v_share, v_per_team from carillon.targets t where t.id = p_target;
  if v_per_team is not null then
    select array_agg(k.team), array_agg(greatest(0, v_per_team - k.slots)), coalesce(array_agg(k.team) filter (where k.slots >= v_per_team), '{}')
    into v_teams, v_rooms, v_full from carillon.team_slots(p_target) k;
  end if;
  return query
    with recursive ends as materialized (
      select l.priority, e.last, (v_ms % (e.last + 1))::int as middle
      from (values (-1), (0), (1)) l (priority) cross join lateral (
        select coalesce(p.team_id, 0) as last from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority
        order by coalesce(p.team_id, 0) desc limit 1) e
    ), teams as (
      select e.priority, h.team, h.last, 0 as found
      from ends e cross join lateral (values (0, e.middle), (e.middle, e.last)) h (team, last)
      union all
      -- A full team is not counted, or many of them would hide the others.
      select t.priority, n.team, t.last, t.found + case when n.team = any(v_full) then 0 else 1 end from teams t cross join lateral (
        select p.team_id as team from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = t.priority
          and coalesce(p.team_id, 0) > t.team and coalesce(p.team_id, 0) <= t.last
        order by coalesce(p.team_id, 0) limit 1) n
      where t.found < 16
    ), lines as materialized (
      select e.priority, 0 as team from ends e
      union all
      select t.priority, t.team from teams t where t.found > 0
    ), rooms as materialized (
      select r.team, greatest(0, r.room) as room from carillon.team_rooms(array(select distinct l.team from lines l where l.team > 0), v_share, p_now) r
      where v_share is not null
    ), first as (
      select l.team, f.* from lines l cross join lateral (
        select p.id, p.queue, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and coalesce(p.team_id, 0) = l.team
          and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
          and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
            or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
        order by p.turn_at, p.id limit least(p_max, (select r.room from rooms r where r.team = l.team),
          coalesce(v_rooms[array_position(v_teams, l.team)], v_per_team))) f
    ), drawn as materialized (
      -- The line without a team has jobs of several teams, and the weight of four. An exponential draw, divided
      -- by the weight, makes each line the first one as often as its weight says; a factor does not change
      -- that. It is small, so that a place more counts for more than the draw.
      select l.team, w.weight, k.places - 0.3 * ln(1 - (hashint8extended(l.team, v_ms) & 4503599627370495) / 4503599627370496.0::float8) as behind
      from (select distinct team from first) l
      cross join lateral (select coalesce((select t.weight from carillon.teams t where t.id = l.team), 4)::float8 as weight) w
      cross join lateral (
        select count(*)::float8 as places from carillon.taken_places k where k.target_id = p_target and coalesce(k.team_id, 0) = l.team) k
    )
    select o.id, o.jobs from (
      select f.id, f.jobs, f.turn_at, (w.behind + row_number() over own - 1) / w.weight as share,
        sum(a.at_once) over own - a.at_once as slots_ahead, coalesce(v_rooms[array_position(v_teams, f.team)], v_per_team) as room
      from first f join drawn w on w.team = f.team
      cross join lateral (select case f.queue when 'fast' then f.jobs else least(f.jobs, carillon.side_by_side()) end as at_once) a
      window own as (partition by f.team order by f.turn_at, f.id)) o
    where coalesce(o.slots_ahead < o.room, true)
    order by o.share, o.turn_at, o.id limit p_max;
end $$;

-- Decides whether a claimed parcel may go on to its target now. p_window is the share of the target, as this
-- worker reports it; null if the worker reports none. If the parcel has to wait, for its turn or for its
-- start at a rate, its lease is taken back.
-- A parcel enters without any lock if nothing bounds its target: no limit, and no share that this worker
-- reports. If only the share bounds a slow target, a parcel with a turn enters without a lock, and a parcel
-- without one looks for room beside other claims (carillon.find_room). In all other cases the target is
-- locked, and the waiting parcels come first.
-- A parcel that is much larger than the cost of its jobs allows, or larger than a limit allows, is split; the
-- rest waits at the target. Where the places of one team are limited, a parcel with jobs of several teams is divided
-- before. A slow parcel that enters without a turn and has few jobs is filled up if only
-- the share bounds the target.
-- Locks: none, or as carillon.find_room, or the target exclusively and then its row and parcels, as
-- carillon.grant_turns, carillon.divide_parcel and carillon.fill_parcel. The caller holds the gate of the shard, shared, and the
-- parcel.
-- Returns: `freed` rows, each a parcel that has got its turn and is to be sent in wait_ms; and last one row
-- with the outcome. `enter`: slots of its jobs may be under way at once (null: not bounded here). `early`: it
-- may start in wait_ms. `held`: it waits for its turn; freed is a parcel that this worker may work instead,
-- or null. `held` is also the answer for a parcel that has got its turn just now; freed is then the parcel
-- itself.
-- Called by: carillon.claim_parcel, for a parcel with a target, before it reads the jobs.
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
  -- If only the share bounds the target, a parcel with a turn has its place already, and another parcel may
  -- find room without waiting for the claims and settles of others.
  v_size := carillon.parcel_jobs('slow', null, null, null, v_target.cost_ms);
  if p_parcel.queue = 'slow' and v_target.concurrency is null and v_target.rate_count is null and (p_window is null or v_target.share = p_window)
    and v_jobs <= v_size * (case when v_target.cost_ms is null then 1 else 2 end)
  then
    if p_parcel.turn = 'granted' then
      v_slots := p_parcel.slots;
    elsif carillon.find_room(v_target, p_parcel.team_id, p_now) then
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
  if v_target.per_team is not null and p_parcel.team_id is null then
    p_parcel := carillon.divide_parcel(p_parcel);
    v_jobs := cardinality(p_parcel.occurrences);
  end if;
  v_at_once := least(v_target.concurrency, v_target.per_team);
  v_size := carillon.parcel_jobs(p_parcel.queue, v_at_once, v_target.rate_count, v_target.rate_ms, v_target.cost_ms);
  -- A cost that has risen, up to twofold, splits no parcel that was packed by the earlier cost; a limit
  -- always does.
  v_most := least(case when v_target.cost_ms is null then 1 else 2 end * v_size,
    carillon.parcel_jobs(p_parcel.queue, v_at_once, v_target.rate_count, v_target.rate_ms, 0));
  v_at_once := case p_parcel.queue when 'fast' then v_most else carillon.side_by_side() end;

  if p_parcel.turn = 'granted' then
    v_slots := p_parcel.slots;
    v_start_at := p_parcel.slot_at + v_target.slipped_ms * interval '1 millisecond';
    v_took := carillon.rate_time(v_target, case when v_jobs > v_most then v_size else v_jobs end);
    -- A claim that is late for its start takes the next start, and all later starts move by as much:
    -- otherwise parcels would overtake each other, or too many jobs would start at once.
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
    v_slots := carillon.direct_slots(p_parcel.target_id, p_parcel.team_id, v_jobs, v_now);
    if v_slots > v_at_once then v_slots := v_at_once; end if;
    if v_slots is not null and v_jobs < v_size and p_parcel.queue = 'slow' and v_target.concurrency is null and v_target.rate_count is null then
      v_jobs := carillon.fill_parcel(p_parcel, v_size, v_now);
      v_slots := least(v_jobs, v_at_once);
    end if;
    if v_slots is null then
      update carillon.parcels p set turn = 'waits', turn_at = coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)), ready_at = 'infinity',
        offer_at = 'infinity', lease_until = null, claimed_at = null, waited_at = coalesce(p.waited_at, v_now)
      where p.id = p_parcel.id;
      for v_turn in select g.* from carillon.grant_turns(p_parcel.target_id, v_now, 200) g loop
        if v_turn.id = p_parcel.id then
          v_start_at := v_turn.ready_at;
        else
          return query select 'freed', (extract(epoch from v_turn.ready_at - v_now) * 1000)::int, null::int, v_turn.id, v_turn.queue;
        end if;
      end loop;
      select p.slots::int into v_slots from carillon.parcels p where p.id = p_parcel.id;
      -- If only the share bounds the target, a parcel that has got its turn just now ends its claim here too,
      -- and is claimed again, as all parcels with a turn are: the target is locked no longer than the
      -- decision takes.
      if v_slots is null or (p_parcel.queue = 'slow' and v_target.concurrency is null and v_target.rate_count is null) then
        -- No job has started, so the commit does not wait for the disk: the sweep repeats what a crash loses.
        perform set_config('synchronous_commit', 'off', true);
        -- A message for this parcel as well: its worker may have no time left, or may not know that it can
        -- claim it again.
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
      lease_until = null, claimed_at = null, waited_at = coalesce(p.waited_at, v_now)
    where p.id = p_parcel.id;
    return query select 'early', ceil(extract(epoch from v_start_at - v_now) * 1000)::int, null::int, null::bigint, null::carillon.queue_class;
    return;
  end if;
  -- Jobs of a slow parcel start one after the other, a few at once; jobs of a fast parcel leave together.
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

-- Looks for room for one more parcel at a target that only its share bounds, beside other claims that do the
-- same. Each takes a seat (carillon.take_seat, class 9) and counts all seats as taken, so that never more parcels
-- go on than the share allows; it finds no room where the target is nearly full, nor where a due parcel waits, nor for a team that has as many workers
-- as it may (carillon.team_has_room).
-- Locks: the target, shared, which waits for a claim that decides about waiting parcels; then a seat, which
-- may be waited for; then a seat of the team. All are kept until
-- the transaction ends if there is room, and released if there is none: two claims that keep the shared lock and then want the exclusive one would wait for each other.
-- Returns: true if there is room.
-- Called by: carillon.enter_target, for a slow parcel that has no turn.
create or replace function carillon.find_room(p_target carillon.targets, p_team int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
begin
  -- The first look takes no lock: where a parcel waits, there is no room to look for.
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if found then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target.id);
  perform carillon.take_seat(9, p_target.id, p_target.share);
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if not found and carillon.seats_of(p_target.share) + (select count(*) from carillon.taken_places p where p.target_id = p_target.id)
    <= carillon.share_now(p_target, p_now)
    and carillon.team_has_room(p_team, p_target.share, p_now)
  then
    return true;
  end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;

-- Gives the free places of a target to the parcels that wait there, in their order: as many as its limits and
-- its share (carillon.share_now) allow, p_max parcels at most. Small parcels are packed together first (carillon.merge_turns). At
-- a rate each parcel gets the instant at which it may start, at most two minutes ahead, so that a later parcel
-- with a higher priority may still go first. Where parcels of teams are among them it is carillon.team_ahead;
-- a parcel that starts later gets its
-- turn only where no other has one, so that a place that becomes free always gives the next turn. No team gets more places than one team may have (targets.per_team). Of a slow parcel a few jobs are under way at once, however many it holds.
-- Locks: the waiting parcels, with skip locked, and the target's row if it has a rate; before them as
-- carillon.merge_turns. The caller holds the target, exclusively.
-- Returns: the parcels that have got a turn, to be sent.
-- Called by: carillon.enter_target, for a parcel that has to wait; carillon.next_turns; carillon.renew_turns;
-- carillon.leave_target, for another target of the team.
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
  v_none_taken boolean;
  v_next bigint[];
begin
  select t.* into v_target from carillon.targets t where t.id = p_target;
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.taken_places p where p.target_id = p_target;
  v_none_taken := v_parcels = 0;
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
      select p.id, cardinality(p.occurrences) as jobs, array_position(v_next, p.id) as place from carillon.parcels p
      where p.id = any(v_next) and coalesce(p.turn, 'granted') = 'waits' order by array_position(v_next, p.id) limit v_parcels for update skip locked
    ), own as materialized (
      select s.team, s.slots from carillon.team_slots(p_target) s where v_target.per_team is not null
    ), fitting as materialized (
      -- A slow parcel has a few jobs under way at once, a fast parcel all of its jobs: as many as its team may have.
      select f.id, f.jobs, f.place, p.team_id,
        least(o.at_once, v_target.per_team - coalesce(s.slots, 0) - sum(o.at_once) over team + o.at_once) as at_once
      from first f join carillon.parcels p on p.id = f.id left join own s on s.team = coalesce(p.team_id, 0)
      cross join lateral (select case p.queue when 'fast' then f.jobs else least(f.jobs, carillon.side_by_side()) end as at_once) o
      window team as (partition by coalesce(p.team_id, 0) order by f.place)
    ), placed as materialized (
      select f.id, f.jobs, f.team_id, f.at_once, sum(f.jobs) over place - f.jobs as ahead, sum(f.at_once) over place - f.at_once as slots_ahead
      from fitting f where f.at_once > 0
      window place as (order by f.place)
    ), starting as materialized (
      select l.id, l.jobs, case when count(l.team_id) over () = 0 or (v_none_taken and l.ahead = 0) then interval '2 minutes' else carillon.team_ahead() end as ahead_most,
        least(l.at_once, coalesce(v_slots - l.slots_ahead, l.at_once)) as slots,
        case when v_job_ms is null then p_now else v_from + l.ahead * v_job_ms * interval '1 millisecond' end as start_at
      from placed l where coalesce(l.slots_ahead < v_slots, true)
    ), granted as materialized (
      select s.* from starting s where s.start_at <= p_now + s.ahead_most
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

-- Finds a parcel of this target and queue that has its turn, is ready and is not claimed yet. A worker whose
-- own parcel has to wait works it instead: the message of that parcel may stand behind thousands whose claims
-- would only be told to wait. It is picked at random from 20, so that two workers at once are likely told of
-- two parcels.
-- Locks: none.
-- Returns: the parcel's id; null if there is none.
-- Called by: carillon.enter_target and carillon.claim_parcel, with the outcome `held`.
create or replace function carillon.granted_parcel(p_target int, p_queue carillon.queue_class, p_now timestamptz) returns bigint
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

-- Says whether as many parcels take places at a target as its share allows now, or slow workers may take no more
-- parcels of this team (null: of none). For a target that only its share bounds.
-- Locks: none.
-- Returns: true if they do.
-- Called by: carillon.wait_where_full, without the target's lock and again with it.
create or replace function carillon.is_full(p_target carillon.targets, p_team int, p_now timestamptz) returns boolean
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return (select count(*) from carillon.taken_places p where p.target_id = p_target.id) >= carillon.share_now(p_target, p_now)
    or (p_team is not null and (select r.room from carillon.team_rooms(array[p_team], p_target.share, p_now) r) <= 0);
end $$;

-- Gives the next turns at a target after a parcel has given up its place there. Does nothing if no parcel
-- waits and no claim can be deciding that one has to; a claim that decides later sees that the place is free.
-- A parcel that took no place asks only whether a parcel waits. Where the parcel's team had as many workers as
-- it may, gives turns also at another target at which its parcels wait (carillon.team_targets).
-- Locks: the target, exclusively, and then as carillon.grant_turns. If no parcel waits: the target shared, or
-- nothing for a parcel without a place. Then another target of the team, by a try: a transaction that holds a
-- target waits for no second one.
-- Returns: the parcels that have got a turn, to be sent.
-- Called by: carillon.claim_parcel, for a parcel that turns out to be empty; carillon.settle_parcel and
-- carillon.end_lease, for a parcel with a target.
create or replace function carillon.leave_target(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_other int;
begin
  if not (case when p_parcel.slots is null then not carillon.somebody_waits(p_parcel.target_id) else carillon.nobody_waits(p_parcel.target_id) end)
  then
    return query select * from carillon.next_turns(p_parcel.target_id);
  end if;
  for v_other in select t from carillon.team_targets(p_parcel, p_now) t loop
    continue when not pg_try_advisory_xact_lock(6, v_other);
    return query select * from carillon.grant_turns(v_other, carillon.clock(), 200);
    exit when found;
  end loop;
end $$;

-- Locks a target, so that one transaction at a time decides which parcels go on to it. (Class 6: see
-- lib/db/locks.ts.)
-- Locks: the target, exclusively, until the transaction ends.
-- Returns: nothing.
-- Called by: carillon.enter_target, carillon.wait_where_full, carillon.next_turns, carillon.renew_turns,
-- carillon.spread_parcels, carillon.define_limits, carillon.cancel_jobs and carillon.lock_parcels_of.
create or replace function carillon.lock_target(p_target int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$ begin perform pg_advisory_xact_lock(6, p_target); end $$;

-- Gives the turns that have come at a target by now, 200 at most. A settle asks for them, and the sweep does,
-- in case the process that knew of a free place has died.
-- Locks: the target, exclusively, and then as carillon.grant_turns.
-- Returns: the parcels that have got a turn, to be sent.
-- Called by: carillon.leave_target; carillon.leave_places; nextTurns in lib/parcel/sweep-turns.ts.
create or replace function carillon.next_turns(p_target int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform carillon.lock_target(p_target);
  return query select * from carillon.grant_turns(p_target, carillon.clock(), 200);
end $$;

-- Makes sure that no parcel waits at a target and that no claim can make one wait there before this
-- transaction ends, since such a claim needs the target's lock. A tick or an edit may insert waiting parcels
-- without that lock; it sends other parcels of the same batch, whose claims give the turns.
-- Locks: the target, shared, until the transaction ends, if the answer is true; nothing if it is false.
-- Returns: true if no parcel waits; false if one does.
-- Called by: carillon.leave_target, for a parcel that took a place; carillon.settle_parcels, for each target
-- at which it has freed a place.
create or replace function carillon.nobody_waits(p_target int) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  -- The first look takes no lock: it sees a parcel that waits already.
  if carillon.somebody_waits(p_target) then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target);
  if not carillon.somebody_waits(p_target) then return true; end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;

-- Says by how much a start at a rate may miss its time without effect: a quarter of the time that its jobs
-- take at this rate, one second at most. Messages do not come to the millisecond.
-- Locks: none.
-- Returns: the time.
-- Called by: carillon.enter_target, for a start that comes late; carillon.direct_slots, for the next start.
create or replace function carillon.rate_slack(p_time interval) returns interval
  language sql immutable parallel safe
  as $$ select least(p_time / 4, interval '1 second') $$;

-- Says how long the next start at a target waits after p_jobs jobs have started together, by the target's
-- rate.
-- Locks: none.
-- Returns: the time; null for a target without a rate.
-- Called by: carillon.enter_target; carillon.direct_slots.
create or replace function carillon.rate_time(p_target carillon.targets, p_jobs int) returns interval
  language sql immutable parallel safe
  as $$ select p_jobs * p_target.rate_ms::float8 / p_target.rate_count * interval '1 millisecond' $$;

-- Gives the turns at a target again after its limits have changed. Parcels that have a turn and are not
-- claimed yet wait again. Parcels that were spread by the old rate are ready when they are due, or wait if
-- they are due already. The starts of the old rate are forgotten. A parcel that is being claimed at this
-- moment is locked and keeps its turn.
-- Locks: the target, exclusively; its parcels, with skip locked; its row; then as carillon.grant_turns.
-- Returns: the parcels that have got a turn, 200 at most, to be sent.
-- Called by: carillon.define_limits; change in lib/limit/limits.ts, after it has written the limits.
create or replace function carillon.renew_turns(p_target int)
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
  update carillon.parcels p set turn = 'waits', slots = null, slot_at = null, ready_at = 'infinity', offer_at = 'infinity', waited_at = coalesce(p.waited_at, v_now)
  where p.id in (select g.id from carillon.parcels g
    where g.target_id = p_target and g.slots is not null and g.turn = 'granted' and g.lease_until is null for update skip locked);
  update carillon.parcels p set turn = case when d.due_at <= v_now then 'waits'::carillon.parcel_turn end,
    ready_at = case when d.due_at <= v_now then 'infinity' else d.due_at end,
    waited_at = case when d.due_at <= v_now then coalesce(p.waited_at, v_now) else p.waited_at end,
    offer_at = case when d.due_at <= v_now then 'infinity' else greatest(v_now + interval '20 seconds', d.due_at - interval '150 seconds') end
  from (select g.id, g.turn_at - coalesce(g.priority, 0) * interval '10 minutes' as due_at from carillon.parcels g
    where g.target_id = p_target and g.turn is null and g.turn_at is not null and g.lease_until is null and g.held_schedule is null and g.lane is null
    for update skip locked) d
  where p.id = d.id;
  update carillon.targets t set busy_until = null, next_at = null, slipped_ms = 0, spread_to = null where t.id = p_target;
  return query select * from carillon.grant_turns(p_target, v_now, 200);
end $$;

-- Says how many parcels of a target may be worked at once: its share of the workers, but no more than half of
-- what the other targets leave, and at least one. So when several targets hang at once, some workers are left
-- for the rest. A full share is assumed to be half of all workers.
-- Locks: none.
-- Returns: the number of parcels; null, for no bound, if no worker has reported a share.
-- Called by: carillon.grant_turns, carillon.direct_slots, carillon.find_room and carillon.is_full.
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

-- Says whether a parcel waits at a target, due or not. Scans of the table are off: this must stay one look
-- into an index, however few parcels the planner expects.
-- Locks: none.
-- Returns: true if one waits.
-- Called by: carillon.leave_target, for a parcel that took no place; carillon.nobody_waits.
create or replace function carillon.somebody_waits(p_target int) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return exists (select from carillon.parcels p where p.target_id = p_target and p.turn = 'waits');
end $$;

-- Gives a parcel's place in the order of turns: the instant at which it is ready, ten minutes earlier for
-- high priority (-1) and ten minutes later for low priority (1). A parcel of low priority is overtaken by
-- parcels that are ready up to twenty minutes later, and by none after that.
-- Locks: none.
-- Returns: the place, as an instant.
-- Called by: carillon.enter_target, carillon.wait_where_full, carillon.due_turns, carillon.split_parcel,
-- carillon.spread_parcels, carillon.set_aside, carillon.fill_parcel, carillon.divide_parcel and carillon.claim_company; packedJobs in
-- lib/plan/packed-jobs.ts.
create or replace function carillon.turn_place(p_ready_at timestamptz, p_priority smallint) returns timestamptz
  language sql immutable parallel safe
  as $$ select p_ready_at + coalesce(p_priority, 0) * interval '10 minutes' $$;

-- Makes a slow parcel that is not claimed and has no turn wait at its target, if only the share bounds the
-- target and it is full, or workers may take no more parcels of its team. Most messages of a burst end here, so this function is short, for the claim and for
-- all that wait for the target's lock: it gives no lease, and looks for no turns, since none can have
-- come. A settle that frees a place decides after this and sees the parcel.
-- Leaves to carillon.enter_target: a target with limits or another share than p_window, and a parcel larger
-- than the cost of its jobs allows, which is split there.
-- Locks: the parcel, with skip locked; then the target, exclusively, which is released if there is room after
-- all. The caller holds the gate of the shard, shared.
-- Returns: true if the parcel waits now; false if the claim has to go on.
-- Called by: carillon.claim_parcel, for a slow parcel that is ready, before it takes the lease.
create or replace function carillon.wait_where_full(p_parcel bigint, p_target int, p_team int, p_window int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  v_target carillon.targets;
begin
  select t.* into v_target from carillon.targets t where t.id = p_target and t.concurrency is null and t.rate_count is null and t.share = p_window;
  -- The first look takes no lock: where there is room, there is nothing to do.
  if not found or not carillon.is_full(v_target, p_team, p_now) then return false; end if;
  -- The parcel before its target, as all claims lock them.
  perform from carillon.parcels p
  where p.id = p_parcel and p.target_id = p_target and p.queue = 'slow' and p.ready_at <= p_now and p.lease_until is null and p.turn is null
    and coalesce(p.held_schedule, 0) = 0 and p.pulse_at is null
    and cardinality(p.occurrences) <= carillon.parcel_jobs('slow', null, null, null, v_target.cost_ms) * (case when v_target.cost_ms is null then 1 else 2 end)
  for update skip locked;
  if not found then return false; end if;
  begin
    perform carillon.lock_target(p_target);
    -- A limit or another share may have come since the first look.
    select t.* into v_target from carillon.targets t where t.id = p_target and t.concurrency is null and t.rate_count is null and t.share = p_window;
    if not found or not carillon.is_full(v_target, p_team, p_now) then raise sqlstate 'CR009'; end if;
  exception
    -- The failed block releases the target's lock.
    when sqlstate 'CR009' then return false;
  end;
  -- Outside of that block: a row that is locked outside and written inside of it would have two transactions
  -- to name.
  update carillon.parcels p set turn = 'waits', turn_at = coalesce(p.turn_at, carillon.turn_place(p.ready_at, p.priority)), ready_at = 'infinity',
    offer_at = 'infinity', waited_at = coalesce(p.waited_at, p_now)
  where p.id = p_parcel;
  -- The commit does not wait for the disk: the sweep repeats what a crash loses.
  perform set_config('synchronous_commit', 'off', true);
  return true;
end $$;

-- Lists the targets at which a parcel waits, by steps through the index from one target to the next.
-- Locks: none.
-- Returns: the ids, ascending.
-- Called by: sweepTurns in lib/parcel/sweep-turns.ts.
create or replace function carillon.waiting_targets() returns setof int
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

-- Counts the places that each team has at a target. Jobs of no team, and parcels with jobs of several teams, are one
-- team with the id 0.
-- Locks: none.
-- Returns: the teams with places, and how many each has.
-- Called by: carillon.due_turns and carillon.grant_turns, at a target that limits the places of one team.
create or replace function carillon.team_slots(p_target int) returns table (team int, slots int)
  language sql stable
  as $$
    select coalesce(p.team_id, 0), sum(p.slots)::int from carillon.taken_places p where p.target_id = p_target group by 1
  $$;
