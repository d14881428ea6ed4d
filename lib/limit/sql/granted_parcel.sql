-- Finds a parcel of this target and queue that has its turn, is ready and is not claimed yet. A worker whose
-- own parcel has to wait works it instead: the message of that parcel may stand behind thousands whose claims
-- would only be told to wait. It is picked at random from 20, so that two workers at once are likely told of
-- two parcels.
-- Locks: none.
-- Returns: the parcel's id; null if there is none.
-- Called by: carillon.enter_target and carillon.claim_parcel, with the outcome `held`.
create or replace function carillon.granted_parcel(p_target int, p_queue carillon.queue_class, p_now timestamptz) returns bigint
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
begin
  return (
    select g.id from (
      select p.id from carillon.parcels p
      where p.target_id = p_target and p.slots is not null and p.turn = 'granted' and p.lease_until is null and p.ready_at <= p_now and p.queue = p_queue
      limit 20) g
    order by random() limit 1);
end $$;
