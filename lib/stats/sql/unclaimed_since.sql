-- Finds since when a parcel of a queue waits to be claimed that was sent and is ready for a minute. Among the p_max
-- parcels whose next message is due first. Left out are pulses, and parcels that no worker can claim.
-- Locks: none.
-- Returns: the earliest instant at which one of them was ready and sent; null if there is none.
-- Called by: carillon.note_tick.
create or replace function carillon.unclaimed_since(p_queue carillon.queue_class, p_now timestamptz, p_max int) returns timestamptz
  language sql stable
  as $$
    select min(greatest(p.ready_at, p.sent_at))
    from (select g.* from carillon.parcels g where g.lane is null order by g.offer_at limit p_max) p
    where p.queue = p_queue and p.lease_until is null and p.offers >= 1 and p.pulse_at is null and p.held_schedule is null
      and greatest(p.ready_at, p.sent_at) <= p_now - interval '1 minute'
      and not exists (select from carillon.quarantine q where q.consumer = 'claim' and q.item = p.id::text)
  $$;
