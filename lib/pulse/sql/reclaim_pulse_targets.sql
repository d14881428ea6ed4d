-- Looks at the next p_max targets of pulses by id: marks those that no pulse uses, takes the mark off those that
-- a pulse uses, and deletes those that were marked a day ago and that no pulse uses. At the end of a round it sets
-- the next look to an hour later.
-- A worker gives up the pulses of a number without a row. It has the numbers of a page in memory for as long as an
-- invocation takes, eleven minutes, and those of a parcel that is tried again for three minutes. A transaction
-- that has found the target without a mark ends as soon. All of them are over within a day.
-- A target that an edit is about to use is locked if it was marked (carillon.follow_pulses), and is passed over.
-- If it is locked here first, the edit waits until it is deleted, and makes it again. The second look at the pulses is
-- a statement of its own: it sees pulses that were committed before the lock.
-- Locks: the row of carillon.pulse_target_round; none if another tick has it. Then the targets that change, for
-- update, by id; locked ones are passed over.
-- Returns: one row: how many targets were looked at and deleted. No row if another tick has the round.
-- Called by: reclaimPulseTargets in lib/tick/housekeeping/reclaim-pulse-targets.ts.
create or replace function carillon.reclaim_pulse_targets(p_max int) returns table (looked int, gone int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- The planner may expect many pulses of a target, and read all pulses instead.
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_place int;
  v_looked int[];
  v_locked int[];
  v_unused int[];
begin
  select r.place into v_place from carillon.pulse_target_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select t.id from carillon.pulse_targets t where t.id > v_place order by t.id limit p_max);
  v_locked := array(
    select t.id from carillon.pulse_targets t
    where t.id = any(v_looked) and (t.unused_at < v_now - interval '1 day'
      or (t.unused_at is null) = not exists (select from carillon.pulses p where p.target_id = t.id offset 0)));
  v_locked := array(select t.id from carillon.pulse_targets t where t.id = any(v_locked) order by t.id for update skip locked);
  v_unused := array(select u.id from unnest(v_locked) u (id) where not exists (select from carillon.pulses p where p.target_id = u.id offset 0));
  delete from carillon.pulse_targets t where t.id = any(v_unused) and t.unused_at < v_now - interval '1 day';
  get diagnostics gone = row_count;
  update carillon.pulse_targets t set unused_at = case when t.id = any(v_unused) then v_now end
  where t.id = any(v_locked) and (t.unused_at is null) = (t.id = any(v_unused));
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.pulse_target_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = v_now + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;
