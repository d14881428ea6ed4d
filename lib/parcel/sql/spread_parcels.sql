-- Spreads new parcels of a target with a rate, which were not sent yet, over the time that their jobs will
-- take, so that each comes to a worker when it may start. Parcels of normal and low priority go behind those
-- that were spread before. Parcels of high priority pass them, and go only behind the last start that a claim
-- was granted (targets.next_at). A parcel of one team that would start later than carillon.team_ahead allows waits for its
-- turn instead, so that parcels of other teams that come later are not behind all of them. Parcels that are not spread keep to the rate too, at the price of another
-- message: the claim sends them back.
-- Locks: the target (class 6) and its row, then the parcels.
-- Returns: the parcels with their new ready_at, to be sent; not those that wait for their turn.
-- Called by: spreadParcels in lib/limit/target-limits.ts, by the tick after all shards.
create or replace function carillon.spread_parcels(p_target int, p_parcels bigint[])
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_target carillon.targets;
  v_now timestamptz;
begin
  perform carillon.lock_target(p_target);
  v_now := carillon.clock();
  select t.* into v_target from carillon.targets t where t.id = p_target;
  return query
    with fresh as materialized (
      select p.id, p.ready_at, p.team_id, coalesce(p.priority, 0) as priority, cardinality(p.occurrences) * v_target.rate_ms::float8 / v_target.rate_count as took_ms
      from carillon.parcels p where p.id = any(p_parcels) and p.target_id = p_target and p.lease_until is null and p.turn is null and p.offers = 0
    ), summed as (
      select f.*, coalesce(sum(f.took_ms) over place, 0) as ahead_ms from fresh f
      window place as (partition by f.priority < 0 order by carillon.turn_place(f.ready_at, f.priority::smallint), f.id
        rows between unbounded preceding and 1 preceding)
    ), spread as materialized (
      -- Each starts when it is ready, or when all parcels before it have had their time, counted from the
      -- last of them that did not wait for others.
      select l.*, l.team_id is not null and l.start_at > greatest(l.ready_at, v_now) + carillon.team_ahead() as waits from (
        select s.*, s.ahead_ms * interval '1 millisecond' + max(greatest(s.ready_at, v_now,
          case when s.priority < 0 then v_target.next_at + v_target.slipped_ms * interval '1 millisecond' else v_target.spread_to end)
            - s.ahead_ms * interval '1 millisecond') over (partition by s.priority < 0 order by carillon.turn_place(s.ready_at, s.priority::smallint), s.id) as start_at
        from summed s) l
    ), waiting as (
      update carillon.parcels p set turn = 'waits', turn_at = carillon.turn_place(s.ready_at, p.priority), waited_at = s.ready_at, ready_at = 'infinity',
        offer_at = 'infinity'
      from spread s where p.id = s.id and s.waits
    ), noted as (
      update carillon.targets t set spread_to = greatest(t.spread_to, l.until)
      from (select max(s.start_at + s.took_ms * interval '1 millisecond') as until from spread s where s.priority >= 0 and not s.waits) l
      where t.id = p_target and l.until is not null
    )
    update carillon.parcels p set ready_at = coalesce(s.start_at, s.ready_at), turn_at = carillon.turn_place(s.ready_at, p.priority),
      waited_at = case when s.start_at > s.ready_at then s.ready_at end,
      offer_at = greatest(v_now + interval '20 seconds', coalesce(s.start_at, s.ready_at) - interval '150 seconds')
    from spread s where p.id = s.id and not s.waits
    returning p.id, p.queue, p.ready_at;
end $$;
