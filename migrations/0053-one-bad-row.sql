-- carillon: back to 31
-- One bad row keeps no other from its turn: an entry of the audit that cannot be deleted, and a pulse whose envelope is no JSON.

-- An envelope that is no JSON makes one of the whole message, and many pulses travel in one. Checked where it is written, it costs a beat nothing.
-- Not valid: rows that are there were written by carillon.follow_pulses, and are checked with their next edit.
alter table carillon.pulses add constraint pulses_rest_is_json check (('{"id":"",' || rest) is json) not valid;

-- Forgets these entries of the audit, and none of the last thirty days whatever it is asked: who did what is not the tick's to hide.
-- carillon.purge_audit, which deletes the oldest, stays for the release before.
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
