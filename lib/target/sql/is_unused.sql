-- Says whether a target is unused: no schedule, not even a deleted one, and no parcel goes there, and no
-- limits were ever set for it. Each change of its limits raises `revision`, and a number that a caller has
-- seen must not be given again. Handlers never are unused: they are the deployment's own, few, and have
-- settings of their own.
-- Each look uses an index. A parcel that is in none of these indexes is under a lease, and was claimed while
-- a schedule went there.
-- Locks: none.
-- Returns: true if it is unused.
-- Called by: carillon.targets_to_reclaim; carillon.reclaim_targets, once it has the targets' rows.
create or replace function carillon.is_unused(p_target carillon.targets) returns boolean
  language sql stable
  as $$
    select p_target.concurrency is null and p_target.rate_count is null and p_target.set_at is null
      and p_target.revision = 1
      and not starts_with(p_target.name, 'handler/')
      and not exists (select from carillon.schedules s where s.target_id = p_target.id and s.target_id is not null and s.deleted_at is null offset 0)
      and not exists (select from carillon.schedules s where s.target_id = p_target.id and s.target_id is not null and s.deleted_at is not null offset 0)
      and not exists (select from carillon.parcels p where p.target_id = p_target.id and p.slots is not null offset 0)
      and not exists (select from carillon.parcels p where p.target_id = p_target.id and p.turn = 'waits' offset 0)
      and not exists (select from carillon.parcels p
        where p.target_id = p_target.id and p.queue = 'slow' and p.lease_until is null and p.turn is null offset 0)
  $$;
