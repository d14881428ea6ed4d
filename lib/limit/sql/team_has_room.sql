-- Decides whether slow workers may take one more parcel of a team (carillon.team_rooms), beside other claims that
-- decide the same at this moment. Each takes a seat (carillon.take_seat, class 12) and counts all seats as taken, so
-- that never more parcels go on than the team may have, whatever targets they are for.
-- Locks: a seat of the team, which may be waited for, until the transaction ends or the caller's block fails.
-- Returns: true if they may; also for a parcel without a team.
-- Called by: carillon.find_room and carillon.direct_slots, for a slow target.
create or replace function carillon.team_has_room(p_team int, p_share int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if p_team is null or p_share is null then return true; end if;
  perform carillon.take_seat(12, p_team, p_share);
  return (select r.room from carillon.team_rooms(array[p_team], p_share, p_now) r) >= carillon.seats_of(p_share);
end $$;
