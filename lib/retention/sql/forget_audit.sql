-- Deletes those of the given audit entries that are older than p_before. An entry of the last 30 days is
-- never deleted, whatever the caller asks: the tick must not be able to hide an action.
-- Locks: the deleted rows.
-- Returns: the number of deleted entries.
-- Called by: forgetAudit in lib/retention/forget-audit.ts.
create or replace function carillon.forget_audit(p_ats timestamptz[], p_ids bigint[], p_before timestamptz) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_gone int;
begin
  delete from carillon.audit a using unnest(p_ats, p_ids) o (at, id)
  where a.at = o.at and a.id = o.id and a.at < least(p_before, carillon.clock() - interval '30 days');
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;
