-- Moves the jobs at positions p_from to p_to of the lists of a parcel whose lease has ended into new parcels,
-- each into its own, as carillon.end_lease does with several jobs: none is charged an attempt. It serves the
-- parts of a parcel whose end_lease has failed as a whole. The parcel stays, for the jobs that cannot be
-- written.
-- Locks: the parcel's row, then its jobs. Its target and lanes are left later (carillon.leave_parcel).
-- Returns: one row with ended = false if the lease goes on, or the parcel is gone or one of pulses; otherwise
-- one row with ended = true, and one more for each parcel to be sent.
-- Called by: endSome in lib/parcel/end-lease.ts.
create or replace function carillon.end_lease_of_some(p_parcel bigint, p_from int, p_to int, p_notify text[])
  returns table (ended boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
begin
  select p.* into v_parcel from carillon.parcels p where p.id = p_parcel and p.lease_until < v_now and p.pulse_at is null for update;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;
  return query
    with own as (
      select j.occurrence, j.schedule_id, j.kind, j.n, carillon.version_tried(j, s) as version
      from unnest(v_parcel.occurrences[p_from:p_to], v_parcel.schedule_ids[p_from:p_to], v_parcel.kinds[p_from:p_to], v_parcel.ns[p_from:p_to])
        k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p_parcel
      join carillon.schedules s on s.id = j.schedule_id
    ), listed as (
      select array_agg(o.occurrence) as occurrences, array_agg(o.schedule_id) as schedule_ids, array_agg(o.kind) as kinds, array_agg(o.n) as ns,
        array_agg('back'::text) as outcomes, array_agg(null::timestamptz) as ats, array_agg(null::bigint) as retries,
        array_agg(null::text) as nothing, array_agg(o.version) as versions
      from own o
    )
    select true, w.id, w.queue, w.ready_at
    from listed l cross join lateral carillon.write_outcomes(v_parcel, v_now, l.occurrences, l.schedule_ids, l.kinds, l.ns, l.outcomes, l.ats,
      l.retries, l.nothing, l.nothing, l.nothing, l.nothing, l.nothing, l.versions, p_notify, true) w
    where l.occurrences is not null;
end $$;
