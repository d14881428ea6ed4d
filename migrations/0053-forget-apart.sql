-- carillon: back to 31
-- Old entries of the audit are deleted by name, so that one that cannot be deleted is left out and keeps no other. 0037 has the deletion of the oldest,
-- which the release before calls.

-- Forgets these entries of the audit, and none of the last thirty days whatever it is asked: who did what is not the tick's to hide.
create function carillon.forget_audit(p_ats timestamptz[], p_ids bigint[], p_before timestamptz) returns int
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

revoke execute on function carillon.forget_audit(timestamptz[], bigint[], timestamptz) from public;
-- safe: the function is new.
grant execute on function carillon.forget_audit(timestamptz[], bigint[], timestamptz) to carillon_tick;
