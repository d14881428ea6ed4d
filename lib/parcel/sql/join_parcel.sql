-- Moves the one job of a slow parcel, which the calling edit has made, into an unclaimed parcel of the same
-- target, shard, priority, team and quarter of a second, if there is one with fewer than ten jobs. So jobs that are
-- made one by one do not need a message each. Both parcels must be ready more than a second from now. Parcels
-- of targets with limits, in lanes, under a hold, of the backlog and those that travel alone are left out.
-- Locks: the other parcel's row with skip locked, the job, and the new parcel's row.
-- Returns: true if the job was moved: then the new parcel is deleted and need not be sent.
-- Called by: joinParcels in lib/parcel/join-parcels.ts.
create or replace function carillon.join_parcel(p_parcel bigint) returns boolean
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  -- A parcel that is ready sooner may be claimed at this moment.
  v_from timestamptz := carillon.clock() + interval '1 second';
  v_new carillon.parcels;
  v_other carillon.parcels;
begin
  select p.* into v_new from carillon.parcels p
  where p.id = p_parcel and p.queue = 'slow' and p.ready_at > v_from and p.ready_at < 'infinity' and p.lease_until is null and p.turn is null
    and p.lane is null and p.held_schedule is null and p.owed is not true and p.alone is not true and cardinality(p.occurrences) = 1
    and not exists (select from carillon.targets t where t.id = p.target_id and (t.concurrency is not null or t.rate_count is not null));
  if not found then return false; end if;
  select p.* into v_other from carillon.parcels p
  where p.queue = 'slow' and p.target_id = v_new.target_id and p.shard = v_new.shard and p.lease_until is null and p.turn is null
    and p.ready_at >= greatest(v_from, date_bin('250 ms', v_new.ready_at, 'epoch')) and p.ready_at < date_bin('250 ms', v_new.ready_at, 'epoch') + interval '250 ms'
    and p.lane is null and p.held_schedule is null and p.owed is not true and p.alone is not true
    and p.priority is not distinct from v_new.priority and p.team_id is not distinct from v_new.team_id
    and cardinality(p.occurrences) < 10 and p.id <> p_parcel
    -- A parcel that still lists a withdrawn job of this schedule is left out: it would list the job twice.
    and v_new.schedule_ids[1] <> all (p.schedule_ids)
  order by p.ready_at, p.id limit 1 for update skip locked;
  if not found then return false; end if;
  update carillon.parcels p set ready_at = greatest(p.ready_at, v_new.ready_at),
    occurrences = p.occurrences || v_new.occurrences, schedule_ids = p.schedule_ids || v_new.schedule_ids,
    kinds = coalesce(p.kinds, array_fill('cadence'::carillon.job_kind, array[cardinality(p.occurrences)])) || coalesce(v_new.kinds[1], 'cadence'),
    ns = coalesce(p.ns, array_fill(0, array[cardinality(p.occurrences)])) || coalesce(v_new.ns[1], 0)
  where p.id = v_other.id;
  update carillon.jobs j set parcel_id = v_other.id
  where j.occurrence = v_new.occurrences[1] and j.schedule_id = v_new.schedule_ids[1] and j.kind = coalesce(v_new.kinds[1], 'cadence')
    and j.n = coalesce(v_new.ns[1], 0) and j.state = 'waiting' and j.parcel_id = p_parcel;
  delete from carillon.parcels p where p.id = p_parcel;
  return true;
end $$;
