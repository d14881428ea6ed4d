-- Takes one of the seats of a team for a request to the API, until the end of its transaction: so many requests of
-- one team use the database at a time, and the others leave room for other teams. No seat is waited for. A lock
-- is a seat, because it costs no write and ends with a connection that is cut.
-- p_team is a number for the team, p_most the number of its seats. Null: half of the connections that the role may
-- have, and a quarter of those of the server if the role has no limit, as behind a proxy.
-- Locks: a seat, which is a lock of class 13, by a try.
-- Returns: nothing. Fails with CA429 if no seat is free and p_must is true.
-- Called by: takeSeat in lib/db/request-seat.ts.
create or replace function carillon.take_request_seat(p_team int, p_most int, p_must boolean) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_seats int := p_most;
begin
  if v_seats is null then
    select case when r.rolconnlimit < 0 then current_setting('max_connections')::int / 4 else (r.rolconnlimit + 1) / 2 end
    into v_seats from pg_roles r where r.rolname = session_user;
  end if;
  perform from generate_series(1, greatest(1, v_seats)) s
  where pg_try_advisory_xact_lock(13, hashint8(p_team::bigint << 16 | s)) limit 1;
  if not found and p_must then
    raise exception 'No seat is free for this request.' using errcode = 'CA429';
  end if;
end $$;
