-- Locks the parcels of these jobs, except those that wait in a lane, and the targets at which they wait. For
-- a batch that may replace the job of a one-time schedule: it takes these locks before those of lanes, as
-- carillon.cancel_jobs does. Only jobs of kind `cadence` with n = 0 are looked for.
-- Locks: the parcels that do not wait at a target, by id; the targets (class 6), ascending; the parcels that
-- wait there, by id. The caller holds the gates exclusively.
-- Returns: false if a claim has made one of the parcels wait at its target meanwhile. That row is then locked
-- out of order: the caller must wait for no further lock and start again.
-- Called by: lockReplaced in lib/batch/lock-many.ts.
create or replace function carillon.lock_parcels_of(p_occurrences timestamptz[], p_schedule_ids bigint[]) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_parcels bigint[];
  v_turns bigint[];
  v_targets int[];
  v_target int;
begin
  select array_agg(distinct p.id), array_agg(distinct p.id) filter (where p.turn = 'waits'),
    array_agg(distinct p.target_id) filter (where p.turn = 'waits')
  into v_parcels, v_turns, v_targets
  from unnest(p_occurrences, p_schedule_ids) k (occurrence, schedule_id)
  join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = 'cadence' and j.n = 0 and j.state = 'waiting'
  join carillon.parcels p on p.id = j.parcel_id;
  perform p.id from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
  where coalesce(p.lane, '') = '' and p.turn is distinct from 'waits' order by p.id for update of p;
  if exists (
    select from unnest(v_parcels) v (id) join carillon.parcels p on p.id = v.id
    where coalesce(p.turn, 'granted') = 'waits' and p.id <> all(coalesce(v_turns, '{}'))) then
    return false;
  end if;
  for v_target in select t.id from unnest(v_targets) t (id) order by 1 loop
    perform carillon.lock_target(v_target);
  end loop;
  perform p.id from unnest(v_turns) v (id) join carillon.parcels p on p.id = v.id
  where coalesce(p.turn, 'granted') = 'waits' order by p.id for update of p;
  return true;
end $$;
