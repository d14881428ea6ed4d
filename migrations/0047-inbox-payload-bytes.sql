-- carillon: back to 31
-- The bytes of a payload as it is sent: as JSON without blanks, and with the two characters escaped that SQS takes no message with. Exact but
-- for numbers that JSON.stringify may write shorter than Postgres does (1.50, 1e300): these count as one digit, so that a call never refuses
-- what the full check takes, which counts them when the command is applied.
create function carillon.payload_bytes(p_payload jsonb) returns int
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_text text := p_payload::text;
  v_outside text;
  v_most int;
begin
  v_most := octet_length(v_text) + 3 * (length(v_text) - length(translate(v_text, E'\ufffe\uffff', '')));
  -- Taking the texts out costs some milliseconds, and nearly no payload needs it; a command above 1 MB is refused whatever it holds.
  if v_most <= 240 * 1024 or octet_length(v_text) > 1024 * 1024 then return v_most; end if;
  -- What is left are brackets, commas, colons, numbers and words; its blanks are those that Postgres writes.
  v_outside := regexp_replace(v_text, '"(?:[^"\\]|\\.)*"', '', 'g');
  return v_most - length(v_outside)
    + length(regexp_replace(translate(v_outside, ' ', ''), '-?(?:\d+\.\d+|\d{22,})', '0', 'g'));
end $$;

revoke execute on function carillon.payload_bytes(jsonb) from public;

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
  -- A hold is its owner's, and the caller's own without saying so; what Carillon has held by itself, every caller may resume.
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
