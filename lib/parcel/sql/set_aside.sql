-- Takes those jobs out of a claimed parcel that may not start here and now. A job of a deleted schedule is
-- cancelled, `deleted`. A job of a held schedule waits in another parcel until the hold ends, unless it was
-- fired by hand. A job that goes to another queue or target than the parcel, or to one of the limited targets
-- p_limited from a parcel without a target, goes on at once in a parcel for it. Late jobs and those that pass
-- lanes stay, for carillon.pass_lanes.
-- The new parcels hold ten jobs at most. They keep the priority, owed and alone of the old parcel and,
-- without a hold, its turn.
-- Locks: the jobs. The claim holds the gate shared and the parcel's row.
-- Returns: the new parcels that are ready now, to be sent.
-- Called by: carillon.claim_parcel, when fewer jobs may simply start than the parcel lists.
create or replace function carillon.set_aside(p_parcel carillon.parcels, p_now timestamptz, p_limited int[])
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
begin
  update carillon.jobs j set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = p_now
  from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n),
       carillon.schedules s
  where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
    and j.state = 'waiting' and j.parcel_id = p_parcel.id
    and s.id = k.schedule_id and s.deleted_at is not null;

  return query
    with aside as (
      select j.occurrence, j.schedule_id, j.kind, j.n, j.queue, h.held, case when h.held is null then p_now else coalesce(j.held_until, 'infinity') end as ready_at,
        case when j.queue = 'slow' or j.target_id = any(p_limited) then j.target_id end as target_id
      from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
      join carillon.startable j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id
        and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0) and j.parcel_id = p_parcel.id
      cross join lateral (
        select case when j.held_since is not null and coalesce(j.held_until, 'infinity') > p_now and j.kind <> 'manual' then j.schedule_id end as held) h
      where h.held is not null or j.queue <> p_parcel.queue
        or case when p_parcel.target_id is null then j.target_id = any(p_limited) else j.target_id is distinct from p_parcel.target_id end
    ), seated as (
      select a.*, (row_number() over (partition by a.queue, a.target_id, a.held order by a.occurrence, a.schedule_id, a.kind, a.n) - 1) / 10 as seat from aside a
    ), packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, g.* from (
        select queue, target_id, held, seat, max(ready_at) as ready_at,
          array_agg(occurrence order by occurrence, schedule_id, kind, n) as occurrences,
          array_agg(schedule_id order by occurrence, schedule_id, kind, n) as schedule_ids,
          array_agg(kind order by occurrence, schedule_id, kind, n) as kinds,
          array_agg(n order by occurrence, schedule_id, kind, n) as ns
        from seated group by queue, target_id, held, seat order by seat) g
    ), inserted as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, target_id, turn_at, priority, team_id, owed, alone, made_at, occurrences,
        schedule_ids, kinds, ns)
      -- In time for a message to come when the parcel is ready: the sweep looks once a minute, and the queue
      -- can delay a message for longer than these 150 seconds.
      select id, p_parcel.shard, queue, ready_at, greatest(p_now, ready_at - interval '150 seconds'), held, target_id,
        case when held is null then coalesce(p_parcel.turn_at, carillon.turn_place(p_parcel.ready_at, p_parcel.priority)) end, p_parcel.priority, p_parcel.team_id, p_parcel.owed,
        p_parcel.alone,
        p_parcel.made_at, occurrences, schedule_ids, kinds, ns
      from packed
    ), moved as (
      update carillon.jobs j set parcel_id = p.id, ready_at = p.ready_at
      from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      -- Except a job that a claim for its whole group has just taken along.
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
        and j.state = 'waiting' and j.parcel_id = p_parcel.id
    )
    select p.id, p.queue from packed p where p.ready_at <= p_now order by p.id;
end $$;
