-- Lists the first parcels that wait at a target for nothing but a turn, in the order of turns, p_max at most.
-- Each priority is read by itself, in the order of the index and only up to now: many parcels may wait that
-- are not due yet.
-- Parcels of one team come in the order of their places (carillon.turn_place), and so do those with jobs of
-- several teams or of none, which are one line together. Of these lines, next is the one with the fewest places
-- at the target for its weight, and where none has a place, a draw: each line is next as often as its weight
-- says. Since when parcels wait must not decide, or a team with a long backlog would keep all others waiting
-- until it is done. The draw of a millisecond is always the same, so that calls of one transaction agree.
-- Reads 32 teams of a priority at most, as thousands may wait: the first 16 before and the first 16 after a
-- team that is another one in each millisecond. Of each team as many slow parcels are listed as workers may
-- take (carillon.team_rooms); with p_company, for a worker that has a parcel, all of them.
-- A team (or the line without one) that has as many places as one team may (targets.per_team) is passed over, and its
-- parcels are not read. Of another team as many parcels are listed as may use the places that it may still take.
-- Leaves out parcels that are set aside because they cannot be written: with them in the list, no parcel
-- behind them would ever have a turn. Whether any parcel is set aside is asked once, of an index that is
-- nearly always empty.
-- Locks: none.
-- Returns: the parcels in their order, with the number of their jobs.
-- Called by: carillon.grant_turns and carillon.merge_turns, for the parcels whose turns come next;
-- carillon.direct_slots and carillon.find_room, to see whether one waits; carillon.claim_company, for parcels
-- to take along.
create or replace function carillon.due_turns(p_target int, p_now timestamptz, p_max bigint, p_company boolean default false) returns table (id bigint, jobs int)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
  as $$
#variable_conflict use_column
declare
  v_share int;
  v_per_team int;
  -- The teams that have places, how many more each may take, and the teams that may take none. A team may have more
  -- than it may, since its limit was lowered.
  v_teams int[];
  v_rooms int[];
  v_full int[] := '{}';
  v_ms bigint := (extract(epoch from p_now) * 1000)::bigint;
begin
  select case when not p_company then t.share end, t.per_team into v_share, v_per_team from carillon.targets t where t.id = p_target;
  if v_per_team is not null then
    select array_agg(k.team), array_agg(greatest(0, v_per_team - k.slots)), coalesce(array_agg(k.team) filter (where k.slots >= v_per_team), '{}')
    into v_teams, v_rooms, v_full from carillon.team_slots(p_target) k;
  end if;
  return query
    with recursive ends as materialized (
      select l.priority, e.last, (v_ms % (e.last + 1))::int as middle
      from (values (-1), (0), (1)) l (priority) cross join lateral (
        select coalesce(p.team_id, 0) as last from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority
        order by coalesce(p.team_id, 0) desc limit 1) e
    ), teams as (
      select e.priority, h.team, h.last, 0 as found
      from ends e cross join lateral (values (0, e.middle), (e.middle, e.last)) h (team, last)
      union all
      -- A full team is not counted, or many of them would hide the others.
      select t.priority, n.team, t.last, t.found + case when n.team = any(v_full) then 0 else 1 end from teams t cross join lateral (
        select p.team_id as team from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = t.priority
          and coalesce(p.team_id, 0) > t.team and coalesce(p.team_id, 0) <= t.last
        order by coalesce(p.team_id, 0) limit 1) n
      where t.found < 16
    ), lines as materialized (
      select e.priority, 0 as team from ends e
      union all
      select t.priority, t.team from teams t where t.found > 0
    ), rooms as materialized (
      select r.team, greatest(0, r.room) as room from carillon.team_rooms(array(select distinct l.team from lines l where l.team > 0), v_share, p_now) r
      where v_share is not null
    ), first as (
      select l.team, f.* from lines l cross join lateral (
        select p.id, p.queue, cardinality(p.occurrences) as jobs, p.turn_at from carillon.parcels p
        where p.target_id = p_target and p.turn = 'waits' and coalesce(p.priority, 0) = l.priority and coalesce(p.team_id, 0) = l.team
          and p.turn_at <= carillon.turn_place(p_now, l.priority::smallint)
          and (not exists (select from carillon.quarantine q where q.consumer = 'turn')
            or not exists (select from carillon.quarantine q where q.consumer = 'turn' and q.item = 'parcel ' || p.id))
        order by p.turn_at, p.id limit least(p_max, (select r.room from rooms r where r.team = l.team),
          coalesce(v_rooms[array_position(v_teams, l.team)], v_per_team))) f
    ), drawn as materialized (
      -- The line without a team has jobs of several teams, and the weight of four. An exponential draw, divided
      -- by the weight, makes each line the first one as often as its weight says; a factor does not change
      -- that. It is small, so that a place more counts for more than the draw.
      select l.team, w.weight, k.places - 0.3 * ln(1 - (hashint8extended(l.team, v_ms) & 4503599627370495) / 4503599627370496.0::float8) as behind
      from (select distinct team from first) l
      cross join lateral (select coalesce((select t.weight from carillon.teams t where t.id = l.team), 4)::float8 as weight) w
      cross join lateral (
        select count(*)::float8 as places from carillon.taken_places k where k.target_id = p_target and coalesce(k.team_id, 0) = l.team) k
    )
    select o.id, o.jobs from (
      select f.id, f.jobs, f.turn_at, (w.behind + row_number() over own - 1) / w.weight as share,
        sum(a.at_once) over own - a.at_once as slots_ahead, coalesce(v_rooms[array_position(v_teams, f.team)], v_per_team) as room
      from first f join drawn w on w.team = f.team
      cross join lateral (select case f.queue when 'fast' then f.jobs else least(f.jobs, carillon.side_by_side()) end as at_once) a
      window own as (partition by f.team order by f.turn_at, f.id)) o
    where coalesce(o.slots_ahead < o.room, true)
    order by o.share, o.turn_at, o.id limit p_max;
end $$;
