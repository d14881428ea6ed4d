-- Divides a parcel that names no team by the teams of its jobs, at a target where the places of one team are
-- limited: a place of a parcel with jobs of several teams would count for none of them. The parcel keeps the jobs
-- of its first job's team, and gives up its turn, which was counted for no team. The others wait at the target in
-- new parcels, one for each team. A parcel without a job of any team stays as it is.
-- Locks: the jobs, then the parcel's row. The caller holds that row already, and the target's lock (class 6).
-- Returns: the parcel as it is now.
-- Called by: carillon.enter_target.
create or replace function carillon.divide_parcel(p_parcel carillon.parcels) returns carillon.parcels
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_teams int[] := array(
    select coalesce((select s.team_id from carillon.schedules s where s.id = k.id), 0)
    from unnest(p_parcel.schedule_ids) with ordinality k (id, place) order by k.place);
  v_parcel carillon.parcels;
begin
  if 0 = all (v_teams) then return p_parcel; end if;
  with listed as materialized (
    select k.* from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns, v_teams) with ordinality
      k (occurrence, schedule_id, kind, n, team, place)
  ), packed as materialized (
    select case when g.first = 1 then p_parcel.id else nextval('carillon.parcels_id_seq') end as id, g.* from (
      select l.team, min(l.place) as first, array_agg(l.occurrence order by l.place) as occurrences, array_agg(l.schedule_id order by l.place) as schedule_ids,
        case when p_parcel.kinds is not null then array_agg(l.kind order by l.place) end as kinds,
        case when p_parcel.ns is not null then array_agg(l.n order by l.place) end as ns
      from listed l group by l.team order by first) g
  ), made as (
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, team_id, owed, made_at, sent_at, waited_at, occurrences,
      schedule_ids, kinds, ns)
    select g.id, p_parcel.shard, p_parcel.queue, 'infinity', 'infinity', p_parcel.target_id, 'waits',
      coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)), p_parcel.priority, nullif(g.team, 0), p_parcel.owed,
      p_parcel.made_at, p_parcel.sent_at, coalesce(p_parcel.waited_at, carillon.clock()), g.occurrences, g.schedule_ids, g.kinds, g.ns
    from packed g where g.first > 1
  ), moved as (
    update carillon.jobs j set parcel_id = g.id
    from packed g cross join lateral unnest(g.occurrences, g.schedule_ids, g.kinds, g.ns) k (occurrence, schedule_id, kind, n)
    where g.first > 1 and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
  )
  update carillon.parcels p set team_id = nullif(g.team, 0), turn = null, slots = null, slot_at = null,
    occurrences = g.occurrences, schedule_ids = g.schedule_ids, kinds = g.kinds, ns = g.ns
  from packed g where g.first = 1 and p.id = p_parcel.id
  returning p.* into v_parcel;
  return v_parcel;
end $$;
