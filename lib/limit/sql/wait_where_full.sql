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
