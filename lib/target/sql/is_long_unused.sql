-- Says whether a target was marked as unused long enough ago for it to be deleted: a day. By then each
-- transaction that may have read the target before the mark has ended. The longest transactions of Carillon
-- take as long as a worker's invocation, eleven minutes, and Postgres ends a transaction that idles for ten
-- seconds.
-- Locks: none.
-- Returns: true if it was; false without a mark.
-- Called by: carillon.targets_to_reclaim; carillon.reclaim_targets, where it deletes.
create or replace function carillon.is_long_unused(p_target carillon.targets, p_now timestamptz) returns boolean
  language sql stable
  as $$ select coalesce(p_target.unused_at < p_now - interval '1 day', false) $$;
