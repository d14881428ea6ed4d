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
