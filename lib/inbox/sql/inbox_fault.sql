-- Finds the first fault that a command alone shows: in its shape, key, owner, target or the size of its
-- payload. The full check is made when the command is applied.
-- Locks: none.
-- Returns: the fault, in words for the caller; null if there is none.
-- Called by: carillon.send_command, before it writes the command.
create or replace function carillon.inbox_fault(p_verb text, p_value jsonb, p_key text) returns text
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_fault text;
  v_bytes int;
begin
  if p_verb in ('put', 'patch', 'job') and jsonb_typeof(p_value) <> 'object' then
    return format('%s takes an object, has a JSON %s', p_verb, jsonb_typeof(p_value))
      || case jsonb_typeof(p_value) when 'string' then ' (where a driver quotes text for jsonb, write $1::text::jsonb)' else '' end;
  end if;
  if jsonb_typeof(p_value) not in ('object', 'string') then return p_verb || ' takes a key, or an object with a key'; end if;
  if jsonb_typeof(p_value -> 'key') <> 'string' then return p_verb || '.key takes a string'; end if;
  v_fault := carillon.inbox_key_fault(p_key);
  if v_fault is not null then return p_verb || '.key ' || v_fault; end if;
  -- A hold belongs to the calling role, so no owner is given. Every caller may resume a hold that Carillon
  -- set itself.
  if p_verb in ('pause', 'resume') and p_value -> 'owner' <> 'null' and (p_verb, p_value ->> 'owner') <> ('resume', 'carillon') then
    return p_verb || '.owner is the role that calls, and is not given';
  end if;
  if p_verb = 'pause' and p_value ->> 'until' in ('infinity', '-infinity') then return 'pause.until takes a finite instant'; end if;
  if p_verb = 'put' and jsonb_typeof(p_value -> 'when') is distinct from 'string' then return 'put.when takes a string such as `in 3h`'; end if;
  if p_verb in ('put', 'job') and jsonb_typeof(p_value -> 'target') is distinct from 'object' then
    return p_verb || '.target takes an object such as `{"queue": "…"}`';
  end if;
  v_bytes := carillon.payload_bytes(p_value -> 'payload');
  if v_bytes > 240 * 1024 then
    return format('%s.payload takes up to 245760 bytes as JSON, has %s', p_verb, v_bytes);
  end if;
  return null;
end $$;
