-- Edits of many schedules at once.

-- As for one: what somebody edits on purpose starts afresh.
create function carillon.forget_failures(p_schedules bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    delete from carillon.failure_runs where schedule_id = any(p_schedules);
    delete from carillon.wanted_holds where schedule_id = any(p_schedules);
  $$;

revoke execute on function carillon.forget_failures(bigint[]) from public;
grant execute on function carillon.forget_failures(bigint[]) to carillon_tick, carillon_api, carillon_handler;

-- The parcels of these jobs, where they wait for no lane, and the targets at which they wait: whoever cancels them among other edits has
-- these before any lane, as carillon.cancel_jobs has for itself. False where a claim has put one to its target at this moment, which is
-- then locked out of order: nothing more may be waited for.
create function carillon.lock_parcels_of(p_occurrences timestamptz[], p_schedule_ids bigint[]) returns boolean
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

revoke execute on function carillon.lock_parcels_of(timestamptz[], bigint[]) from public;
grant execute on function carillon.lock_parcels_of(timestamptz[], bigint[]) to carillon_tick, carillon_api, carillon_handler;

-- A target that a schedule names is never deleted. To make sure of it, each new schedule locked its target's row, which all that go to
-- one target share: a tenth of what making a schedule costs, and a queue where many are made at once.
alter table carillon.schedules drop constraint schedules_target_id_fkey;
