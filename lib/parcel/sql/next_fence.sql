-- Gives the fence of the next claim of a parcel whose last fence is p_last: the server's clock in
-- milliseconds since 1970, modulo 2^31, because workers keep a fence in 32 bits. If p_last is equal to that
-- or up to a second ahead, as for claims within one millisecond, it is p_last + 1. So a parcel gets no fence
-- twice within 24 days, and no worker lives as long. 0 is the fence of a parcel that was never claimed.
-- A counter will not do. The commits of carillon.claim_parcels and carillon.claim_company do not wait for the
-- disk, so a crash of the database may lose a claim, and a counter would give its number to the next claim:
-- the worker of the lost claim could then settle under the lease of the next one. carillon.clock() will not
-- do either: a test may hold it still.
-- Locks: none.
-- Returns: the fence, 1 or more.
-- Called by: carillon.claim_parcel, carillon.claim_parcels, carillon.claim_company, carillon.end_lease.
create or replace function carillon.next_fence(p_last int) returns int
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select greatest(1, case when p_last > 0 and (p_last - c.ms) & 2147483647 < 1000 then (p_last + 1::bigint) & 2147483647 else c.ms end)::int
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint & 2147483647 as ms) c
  $$;
