-- Counts the bytes of a payload as it is sent: JSON without blanks, in which U+FFFE and U+FFFF are escaped,
-- because SQS takes no message with them.
-- Fractions and numbers of 22 digits or more count as one digit, because JSON.stringify may write them
-- shorter than Postgres does (1.50, 1e300). So a call never refuses a payload that the full check accepts;
-- the full check counts these numbers when the command is applied.
-- The blanks are counted too if the payload is within 240 KB even so, or above 1 MB: the result is then an
-- upper bound.
-- Locks: none.
-- Returns: the number of bytes; null without a payload.
-- Called by: carillon.inbox_fault; carillon.make_rechecks.
create or replace function carillon.payload_bytes(p_payload jsonb) returns int
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_text text := p_payload::text;
  v_outside text;
  v_most int;
begin
  v_most := octet_length(v_text) + 3 * (length(v_text) - length(translate(v_text, E'\ufffe\uffff', '')));
  -- Removing the strings takes some milliseconds, and nearly no payload needs it. A command above 1 MB is
  -- refused in any case.
  if v_most <= 240 * 1024 or octet_length(v_text) > 1024 * 1024 then return v_most; end if;
  -- The rest is brackets, commas, colons, numbers and words. Its blanks are those that Postgres writes.
  v_outside := regexp_replace(v_text, '"(?:[^"\\]|\\.)*"', '', 'g');
  return v_most - length(v_outside)
    + length(regexp_replace(translate(v_outside, ' ', ''), '-?(?:\d+\.\d+|\d{22,})', '0', 'g'));
end $$;
