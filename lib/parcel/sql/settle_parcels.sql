-- Settles those of these parcels whose fence is the caller's and whose jobs have all succeeded, in one
-- statement. Left to carillon.settle_parcel are fast parcels of a limited target, and those with lanes, of
-- the backlog or of pulses. p_started_ms and p_ended_ms say for each parcel how many milliseconds ago the target
-- of its jobs began and ended; null: it began at the claim, and ended now.
-- Free places are not given away here: the target would be locked until the disk has the whole commit. The
-- caller gives them away with carillon.leave_places.
-- Locks: the parcels by id; their jobs; then the targets at which no parcel waits (class 6), shared and
-- ascending.
-- Returns: one row with `settled` for each settled parcel, then one row with `left_target` for each target at
-- which a parcel may wait for a place that is free now, also another target of the same team
-- (carillon.team_targets).
-- Called by: settleAll in lib/parcel/settle-together.ts.
create or replace function carillon.settle_parcels(p_parcels bigint[], p_fences int[], p_notify text[], p_started_ms int[] default null,
    p_ended_ms int[] default null)
  returns table (settled bigint, left_target int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_gone carillon.parcels[];
  v_claim record;
  v_left int;
begin
  with locked as materialized (
    select p.id from unnest(p_parcels, p_fences) m (id, fence) join carillon.parcels p on p.id = m.id and p.fence = m.fence
    where (p.target_id is null or p.queue = 'slow') and p.laned is not true and p.owed is not true and p.pulse_at is null
    order by p.id for update of p
  ), gone as (
    delete from carillon.parcels p using locked l where p.id = l.id returning p
  )
  select array_agg(g.p) into v_gone from gone g;
  for v_claim in
    select c.claimed_at, o.target_ms, o.ended_at, array_agg(distinct c.id) as ids, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from unnest(v_gone) c
    join unnest(p_parcels, p_started_ms, p_ended_ms) t (id, started_ms, ended_ms) on t.id = c.id
    cross join lateral carillon.own_times(c.claimed_at, v_now, v_now, t.started_ms, t.ended_ms) o
    cross join lateral unnest(c.occurrences, c.schedule_ids) k (occurrence, schedule_id)
    group by c.claimed_at, o.target_ms, o.ended_at
  loop
    perform carillon.write_successes(v_claim.ids, v_claim.claimed_at, false, v_claim.occurrences, v_claim.schedule_ids, v_now, p_notify,
      v_claim.target_ms, v_claim.ended_at);
  end loop;
  perform carillon.note_times(c.id, c.claimed_at, c.made_at, c.sent_at, c.waited_at, v_now, c.target_id, c.queue, c.shard, c.occurrences)
  from unnest(v_gone) c;
  insert into carillon.target_work (target_id, jobs, ms)
  select c.target_id, sum(cardinality(c.occurrences)),
    sum(greatest(0, extract(epoch from v_now - c.claimed_at)) * 1000 * carillon.places_of(c, cardinality(c.occurrences)))
  from unnest(v_gone) c where c.queue = 'slow' and c.target_id is not null group by c.target_id;
  return query select c.id, null::int from unnest(v_gone) c;
  for v_left in select distinct c.target_id from unnest(v_gone) c where c.target_id is not null and c.slots is not null order by 1 loop
    if not carillon.nobody_waits(v_left) then return query select null::bigint, v_left; end if;
  end loop;
  return query select null::bigint, t from (select distinct on (c.team_id) c from unnest(v_gone) c where c.team_id is not null) g (c)
    cross join lateral carillon.team_targets(g.c, v_now) t;
end $$;
