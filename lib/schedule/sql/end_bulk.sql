-- Adds the counts to the audit entry of a bulk action: `soFar` with each batch, and once those of the whole, which
-- replace it. An entry of the audit is otherwise never changed: the action writes it before the first change, so that no
-- version names an entry that is missing.
-- Locks: the row of the entry.
-- Returns: nothing.
-- Called by: noteProgress and endBulk in lib/batch/bulk-entry.ts.
create or replace function carillon.end_bulk(p_at timestamptz, p_id bigint, p_counts jsonb) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    update carillon.audit set detail = (detail - 'soFar') || p_counts
    where at = p_at and id = p_id and not detail ? 'done'
      and action in ('schedules.paused', 'schedules.resumed', 'schedules.deleted', 'schedules.patched');
  $$;
