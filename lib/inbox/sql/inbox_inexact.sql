-- Finds a whole number in the command that loses digits where numbers are doubles, such as an id of 64 bits.
-- Only numbers between 2^53 and 2^62, and between their negatives, are tested.
-- Locks: none.
-- Returns: the first such number as text; null if there is none.
-- Called by: carillon.send_command, if the command has 16 digits in a row.
create or replace function carillon.inbox_inexact(p_command jsonb) returns text
  language sql immutable
  set search_path = pg_catalog, pg_temp set extra_float_digits = 1
  as $$
    select n #>> '{}'
    from jsonb_path_query(p_command, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740992 && @ < 4611686018427387904
      || @ < -9007199254740992 && @ > -4611686018427387904))') n
    where n::numeric = trunc(n::numeric) and n::bigint::float8::bigint <> n::bigint and n::bigint::float8::text::numeric <> n::numeric limit 1
  $$;
