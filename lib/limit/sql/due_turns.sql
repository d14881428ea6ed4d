-- Lists the first parcels that wait at a target for nothing but a turn, in the order of turns, p_max at most.
-- Each priority is read by itself, in the order of the index and only up to now: many parcels may wait that
-- are not due yet.
-- A parcel with the many jobs of one team comes after parcels of its priority that have no team and are ready
-- up to ten minutes later. Such parcels of several teams come by turns: next is always the team with the
-- fewest places for its weight.
-- Leaves out parcels that are set aside because they cannot be written: with them in the list, no parcel
-- behind them would ever have a turn. Whether any parcel is set aside is asked once, of an index that is
-- nearly always empty.
-- Locks: none.
-- Returns: the parcels in their order, with the number of their jobs.
-- Called by: carillon.grant_turns and carillon.merge_turns, for the parcels whose turns come next;
-- carillon.direct_slots and carillon.find_room, to see whether one waits; carillon.claim_company, for parcels
-- to take along.
create or replace function carillon.due_turns(p_target int, p_now timestamptz, p_max bigint) returns table (id bigint, jobs int)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
begin
  return query
    with recursive lines as (
      select l.priority, 0 as team from (values (-1), (0), (1)) l (priority)
      union all
      select l.priority, n.team from lines l cross join lateral (
        select p.team_id as team from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and coalesce(p.team_id, 0) > l.team
        order by coalesce(p.team_id, 0) limit 1) n
    ), first as (
      select l.team, f.* from lines l cross join lateral (
        select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and coalesce(p.team_id, 0) = l.team
          and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
          and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
            or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
        order by p.turn_at, p.id limit p_max) f
    ), shared_out as (
      select f.*, case when f.team > 0 then (row_number() over (partition by f.team order by f.turn_at, f.id) + (
          select count(*) from carillon.taken_places k where k.target_id = p_target and k.team_id = f.team))::float8 / (
          select t.weight from carillon.teams t where t.id = f.team) end as share
      from first f
    ), placed as (
      -- The place of the oldest parcel of a team counts for those that are shared out before it.
      select s.*, case s.team when 0 then s.turn_at else interval '10 minutes' + min(s.turn_at) over (partition by s.team > 0
        order by s.share, s.turn_at, s.id rows between current row and unbounded following) end as place
      from shared_out s
    )
    select p.id, p.jobs from placed p order by p.place, p.team > 0, p.share, p.turn_at, p.id limit p_max;
end $$;
