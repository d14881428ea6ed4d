-- Lists targets at which parcels of a team wait, after a slow parcel of the team has given up its place at
-- another target. Where the team had as many places as it may (carillon.team_rooms), the place may be for any of
-- these targets, and no settle there may come for long. The search goes on from the parcel's target, so that each
-- of many targets has its turn.
-- Locks: none.
-- Returns: the ids of four targets at most; none if the team may have further places all the same.
-- Called by: carillon.leave_target; carillon.settle_parcels.
create or replace function carillon.team_targets(p_parcel carillon.parcels, p_now timestamptz) returns setof int
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_share int;
  v_target int := p_parcel.target_id;
  v_wrapped boolean := false;
  v_found int := 0;
begin
  if p_parcel.queue <> 'slow' or p_parcel.team_id is null or p_parcel.slots is null then return; end if;
  loop
    select p.target_id into v_target from carillon.parcels p
    where p.team_id = p_parcel.team_id and p.turn = 'waits' and p.queue = 'slow' and p.target_id > v_target order by p.target_id limit 1;
    if v_target is null and not v_wrapped then
      v_wrapped := true;
      v_target := 0;
      continue;
    end if;
    exit when v_target is null or (v_wrapped and v_target >= p_parcel.target_id);
    if v_found = 0 then
      select t.share into v_share from carillon.targets t where t.id = p_parcel.target_id;
      exit when v_share is null or (select r.room from carillon.team_rooms(array[p_parcel.team_id], v_share, p_now) r) > carillon.seats_of(v_share);
    end if;
    v_found := v_found + 1;
    return next v_target;
    exit when v_found = 4;
  end loop;
end $$;
