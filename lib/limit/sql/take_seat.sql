-- Takes one of the seats of a target or a team, for a claim that looks for room there beside others. The claim
-- keeps it until its transaction ends or the caller's block fails. A read of the places must come in a later
-- statement, to see those of claims that have committed meanwhile.
-- Locks: a seat, which is a lock of this class: 9 for a target, 12 for a team. It may be waited for.
-- Returns: nothing.
-- Called by: carillon.find_room and carillon.team_has_room.
create or replace function carillon.take_seat(p_class int, p_id int, p_share int) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_seats int := carillon.seats_of(p_share);
  v_first int := p_id % 1000000 * 1000;
begin
  perform from generate_series(v_first, v_first + v_seats - 1) s where pg_try_advisory_xact_lock(p_class, s) limit 1;
  -- All seats are taken: wait for one of them.
  if not found then perform pg_advisory_xact_lock(p_class, v_first + floor(random() * v_seats)::int); end if;
end $$;
