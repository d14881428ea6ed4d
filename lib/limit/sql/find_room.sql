-- Looks for room for one more parcel at a target that only its share bounds, beside other claims that do the
-- same. Each takes a seat (carillon.take_seat, class 9) and counts all seats as taken, so that never more parcels
-- go on than the share allows; it finds no room where the target is nearly full, nor where a due parcel waits, nor for a team that has as many workers
-- as it may (carillon.team_has_room).
-- Locks: the target, shared, which waits for a claim that decides about waiting parcels; then a seat, which
-- may be waited for; then a seat of the team. All are kept until
-- the transaction ends if there is room, and released if there is none: two claims that keep the shared lock and then want the exclusive one would wait for each other.
-- Returns: true if there is room.
-- Called by: carillon.enter_target, for a slow parcel that has no turn.
create or replace function carillon.find_room(p_target carillon.targets, p_team int, p_now timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
begin
  -- The first look takes no lock: where a parcel waits, there is no room to look for.
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if found then return false; end if;
  perform pg_advisory_xact_lock_shared(6, p_target.id);
  perform carillon.take_seat(9, p_target.id, p_target.share);
  perform from carillon.due_turns(p_target.id, p_now, 1);
  if not found and carillon.seats_of(p_target.share) + (select count(*) from carillon.taken_places p where p.target_id = p_target.id)
    <= carillon.share_now(p_target, p_now)
    and carillon.team_has_room(p_team, p_target.share, p_now)
  then
    return true;
  end if;
  raise sqlstate 'CR009';
exception
  when sqlstate 'CR009' then return false;
end $$;
