-- Fills the parcels whose turns at a target come next with jobs of other parcels, before the turns are given.
-- A shard under an edit is left out.
-- Locks: the parcels with skip locked, and the gates of their shards (class 2), shared and by a try: a gate
-- comes before the target in the lock order and must not be waited for here. Then as carillon.fill_parcel.
-- The caller holds the target's lock (class 6).
-- Returns: nothing.
-- Called by: carillon.grant_turns, before it chooses the parcels.
create or replace function carillon.merge_turns(p_target carillon.targets, p_now timestamptz, p_max bigint) returns void
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
