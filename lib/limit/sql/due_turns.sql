-- Lists the first parcels that wait at a target for nothing but a turn, in the order of turns, p_max at most.
-- Each priority is read by itself, in the order of the index and only up to now: many parcels may wait that
-- are not due yet.
-- A parcel with the many jobs of one team comes after parcels of its priority that have no team and are ready
-- up to ten minutes later. Such parcels of several teams come by turns: next is always the team with the
-- fewest places for its weight.
-- Reads 32 teams of a priority at most, as thousands may wait: the first 16 before and the first 16 after a
-- team that is another one in each millisecond.
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
    with recursive ends as materialized (
      select l.priority, e.last, ((extract(epoch from p_now) * 1000)::bigint % (e.last + 1))::int as middle
      from (values (-1), (0), (1)) l (priority) cross join lateral (
        select coalesce(p.team_id, 0) as last from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority
        order by coalesce(p.team_id, 0) desc limit 1) e
    ), teams as (
      select e.priority, h.team, h.last, 0 as found
      from ends e cross join lateral (values (0, e.middle), (e.middle, e.last)) h (team, last)
      union all
      select t.priority, n.team, t.last, t.found + 1 from teams t cross join lateral (
        select p.team_id as team from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = t.priority
          and coalesce(p.team_id, 0) > t.team and coalesce(p.team_id, 0) <= t.last
        order by coalesce(p.team_id, 0) limit 1) n
      where t.found < 16
    ), lines as materialized (
      select e.priority, 0 as team, 0::float8 as places, 1::float8 as weight from ends e
      union all
      select t.priority, t.team,
        (select count(*) from carillon.taken_places k where k.target_id = p_target and k.team_id = t.team)::float8,
        (select w.weight from carillon.teams w where w.id = t.team)::float8
      from teams t where t.found > 0
    ), first as (
      select l.team, l.places, l.weight, f.* from lines l cross join lateral (
        select p.id, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and coalesce(p.team_id, 0) = l.team
          and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
          and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
            or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
        order by p.turn_at, p.id limit p_max) f
    ), shared_out as (
      select f.*, case when f.team > 0 then (row_number() over (partition by f.team order by f.turn_at, f.id) + f.places) / f.weight end as share
      from first f
    ), placed as (
      -- The place of the oldest parcel of a team counts for those that are shared out before it.
      select s.*, case s.team when 0 then s.turn_at else interval '10 minutes' + min(s.turn_at) over (partition by s.team > 0
        order by s.share, s.turn_at, s.id rows between current row and unbounded following) end as place
      from shared_out s
    )
    select p.id, p.jobs from placed p order by p.place, p.team > 0, p.share, p.turn_at, p.id limit p_max;
end $$;
