-- Looks at the next p_max targets in the order of ids and finds those that carillon.reclaim_targets has to
-- mark, unmark or delete. Moves the round on by these targets.
-- Locks: the row of carillon.target_round, with skip locked.
-- Returns: how many targets it has looked at, fewer than p_max at the end of a round, and the ids found. No
-- row if another tick has the round.
-- Called by: reclaimTargets in lib/tick/housekeeping/reclaim-targets.ts.
create or replace function carillon.targets_to_reclaim(p_max int) returns table (looked int, ids int[])
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_place int;
  v_looked int[];
begin
  select r.place into v_place from carillon.target_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select t.id from carillon.targets t where t.id > v_place order by t.id limit p_max);
  ids := array(
    select t.id from carillon.targets t
    where t.id = any(v_looked) and (carillon.is_long_unused(t, v_now) or (t.unused_at is null) = carillon.is_unused(t)) order by t.id);
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.target_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = v_now + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;
