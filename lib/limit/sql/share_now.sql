-- Says how many parcels of a target may be worked at once: its share of the workers, but no more than half of
-- what the other targets leave, and at least one. So when several targets hang at once, some workers are left
-- for the rest. A full share is assumed to be half of all workers.
-- Locks: none.
-- Returns: the number of parcels; null, for no bound, if no worker has reported a share.
-- Called by: carillon.grant_turns, carillon.direct_slots, carillon.find_room and carillon.is_full.
create or replace function carillon.share_now(p_target carillon.targets, p_now timestamptz) returns int
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_target.share is not null then least(p_target.share, greatest(1, (2 * p_target.share + 1 - (
      select count(*) from (
        select from carillon.taken_places p
        where p.queue = 'slow' and p.target_id <> p_target.id and (p.lease_until is not null or p.ready_at <= p_now)
        limit 2 * p_target.share) others)) / 2))::int end
  $$;
