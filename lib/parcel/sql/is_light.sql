-- Says whether a payload is small enough to come with a claim, by its stored size and without unpacking it.
-- Claims bring no large payloads: a parcel of 250 jobs may have 60 MB of them, and a worker has several
-- parcels. A compressed payload is not light, since unpacked it may be 240 KB.
-- Stable, like the functions that it calls. Otherwise it would not be inlined, and would cost a call for each
-- job.
-- Locks: none.
-- Returns: true for null and for an uncompressed payload of p_bytes at most.
-- Called by: lightPayload in lib/parcel/heavy-payloads.ts, in the statements of the three claims.
create or replace function carillon.is_light(p_payload jsonb, p_bytes int) returns boolean
  language sql stable parallel safe
  as $$ select p_payload is null or (pg_column_compression(p_payload) is null and pg_column_size(p_payload) <= p_bytes) $$;
