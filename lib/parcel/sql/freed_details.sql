-- Builds `more` for a row `freed` of carillon.claim_parcel: a parcel to be sent, and in how many milliseconds
-- it is ready.
-- Locks: none.
-- Returns: an object with waitMs, freedId and freedQueue.
-- Called by: carillon.claim_parcel.
create or replace function carillon.freed_details(p_wait_ms int, p_parcel bigint, p_queue carillon.queue_class) returns jsonb
  language sql immutable
  as $$ select jsonb_build_object('waitMs', p_wait_ms, 'freedId', p_parcel::text, 'freedQueue', p_queue) $$;
