-- Lists the targets at which a parcel waits, by steps through the index from one target to the next.
-- Locks: none.
-- Returns: the ids, ascending.
-- Called by: sweepTurns in lib/parcel/sweep-turns.ts.
create or replace function carillon.waiting_targets() returns setof int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_target int := 0;
begin
  loop
    select p.target_id into v_target from carillon.parcels p where p.turn = 'waits' and p.target_id > v_target order by p.target_id limit 1;
    exit when v_target is null;
    return next v_target;
  end loop;
end $$;
