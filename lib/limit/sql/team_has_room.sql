-- Decides whether slow workers may take one more parcel of a team (carillon.team_room), beside other claims that
-- decide the same at this moment. A quarter of a target's share may look at once, each claim with a seat of its
-- own, which is a lock of class 12. Each counts all seats as taken, so that never more parcels go on than the
-- team may have, whatever targets they are for.
-- Locks: a seat of the team, which may be waited for, until the transaction ends or the caller's block fails.
-- Returns: true if they may; also for a parcel without a team.
-- Called by: carillon.find_room and carillon.direct_slots, for a slow target.
create or replace function carillon.team_has_room(p_team int, p_share int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_seats int := greatest(1, p_share / 4);
  v_first int := p_team % 1000000 * 1000;
  v_seat int;
begin
  if p_team is null or p_share is null then return true; end if;
  select s into v_seat from generate_series(v_first, v_first + v_seats - 1) s where pg_try_advisory_xact_lock(12, s) limit 1;
  -- All seats are taken: wait for one of them.
  if v_seat is null then perform pg_advisory_xact_lock(12, v_first + floor(random() * v_seats)::int); end if;
  -- A statement of its own: it sees the places of claims that have committed meanwhile.
  return carillon.team_room(p_team, p_share, p_now) >= v_seats;
end $$;
