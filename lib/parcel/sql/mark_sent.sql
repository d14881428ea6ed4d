-- Marks parcels that were handed to their queue: the sweep sends one again only if no worker has claimed it a
-- minute after it was ready. Later offers are counted by the sweep. A function, because its plan is kept:
-- planning it again for one parcel took twice as long as running it.
-- Locks: the parcels by id, with skip locked: a locked parcel is being claimed or settled and need not be
-- marked.
-- Returns: nothing.
-- Called by: markSent in lib/parcel/hand-over.ts, after the parcels were sent.
create or replace function carillon.mark_sent(p_ids bigint[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  with locked as (
    select id from carillon.parcels where id = any(p_ids) order by id for update skip locked
  )
  update carillon.parcels p
  set offers = greatest(p.offers, 1), offer_at = greatest(p.offer_at, greatest(p.ready_at, carillon.clock()) + interval '1 minute'),
    -- A worker may have claimed it before it is marked here.
    sent_at = coalesce(p.sent_at, least(carillon.clock(), p.claimed_at))
  from locked where p.id = locked.id;
end $$;
