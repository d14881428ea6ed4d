-- Moves the jobs at positions p_from to p_to of the lists of a ready, unclaimed parcel into a new parcel,
-- which keeps the target and the turn there. It serves the parts of a parcel whose claim has failed. The old
-- parcel keeps its lists: each reader of a parcel takes only jobs that name it, and so a parcel that cannot
-- be written loses its jobs too.
-- Locks: the parcel's row, then its jobs. The caller holds the gate of the parcel's shard (class 2) shared.
-- Returns: the new parcel, to be sent; no row if the parcel is not to be claimed now or none of these jobs is
-- in it any more.
-- Called by: moveSome in lib/parcel/split-parcel.ts.
create or replace function carillon.move_some(p_parcel bigint, p_from int, p_to int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_id bigint := nextval('carillon.parcels_id_seq');
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= v_now and p.pulse_at is null for update;
  if v_parcel.id is null then return; end if;
  return query
    with moved as (
      update carillon.jobs j set parcel_id = v_id
      from unnest(v_parcel.occurrences[p_from:p_to], v_parcel.schedule_ids[p_from:p_to], v_parcel.kinds[p_from:p_to], v_parcel.ns[p_from:p_to])
        k (occurrence, schedule_id, kind, n)
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p_parcel
      returning j.occurrence, j.schedule_id, j.kind, j.n
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn_at, priority, team_id, owed, alone, made_at, sent_at, waited_at,
      occurrences, schedule_ids, kinds, ns)
    select v_id, v_parcel.shard, v_parcel.queue, v_parcel.ready_at, v_now + interval '20 seconds', v_parcel.target_id, v_parcel.turn_at, v_parcel.priority,
      v_parcel.team_id, v_parcel.owed, v_parcel.alone, v_parcel.made_at, v_parcel.sent_at, v_parcel.waited_at, array_agg(m.occurrence order by m.occurrence, m.schedule_id, m.kind, m.n),
      array_agg(m.schedule_id order by m.occurrence, m.schedule_id, m.kind, m.n), array_agg(m.kind order by m.occurrence, m.schedule_id, m.kind, m.n),
      array_agg(m.n order by m.occurrence, m.schedule_id, m.kind, m.n)
    from moved m having count(*) > 0
    returning parcels.id, parcels.queue, parcels.ready_at;
end $$;
