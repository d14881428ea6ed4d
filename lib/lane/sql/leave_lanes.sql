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
