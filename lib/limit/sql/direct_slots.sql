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
