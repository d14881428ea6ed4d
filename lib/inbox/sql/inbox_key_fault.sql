-- Finds the fault of a text that can be no key. Only a part of the rules is tested. The others, such as
-- invisible characters of all alphabets, are tested when the command is applied.
-- Locks: none.
-- Returns: the fault as the end of a sentence, such as "is required"; null if there is none.
-- Called by: carillon.inbox_fault for the key of a command; carillon.restrict_caller for a prefix.
create or replace function carillon.inbox_key_fault(p_key text) returns text
  language sql immutable
  set search_path = pg_catalog, pg_temp
  as $$
    select case
      when p_key is null then 'is required'
      when length(p_key) not between 1 and 255 then format('takes 1 to 255 characters, has %s', length(p_key))
      when p_key in ('.', '..') then 'may not be `.` or `..`'
      when translate(p_key, '/?#%\', '') <> p_key then 'may not hold any of `/ ? # % \`'
      when btrim(p_key, E' \t\n\r\f\v') <> p_key then 'may not begin or end with a blank'
      when p_key collate "C" ~ '[\x01-\x1f\x7f]' then 'may hold printable characters only'
    end
  $$;
