-- Gives the part of an error that is the same each time the same fault happens: ids, numbers, times, addresses,
-- paths, secrets and quoted data become placeholders such as `<id>`. What tells faults apart stays: words, codes
-- such as 404 or 23505, names of code in quotes (`relation "users"`), hosts, and ports of services.
-- It reads the first 600 characters and gives at most 200: a settle of many long errors must not take long. Each
-- step that needs a digit, a quote or a slash is left out for a text without one. A kept code is marked with U+0001
-- until the end.
-- Locks: none.
-- Returns: the text; an empty one for null.
-- Called by: carillon.note_errors.
create or replace function carillon.normalised_error(p_error text) returns text
  language plpgsql immutable parallel safe
  as $$
declare
  v text := regexp_replace(translate(left(coalesce(p_error, ''), 600), E'\u0001', ''), '\s+', ' ', 'g');
begin
  if strpos(v, '://') > 0 then
    v := regexp_replace(v, '([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^ /@]*@)?([^ /?#:,;)<>]*)(?::\d+)?(?:[/?#][^ ,;)<>]*)?', '\1\2/<path>', 'g');
  end if;
  v := regexp_replace(v, '\m(bearer|basic) [a-z0-9._~+/=-]{16,}', '\1 <secret>', 'gi');
  v := regexp_replace(v, '((?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)["'']? ?[:=] ?["'']?)[^ "'',;&)<]+', '\1<secret>', 'gi');
  if v ~ '["'']' then
    v := regexp_replace(v, '"(message|error|code|reason|type|title|detail|status|statuscode|errortype|errormessage|__type)" ?: ?"([^"]*)"', '\1: \2', 'gi');
    v := regexp_replace(v, '"(status|statuscode|code)" ?: ?', '\1: ', 'gi');
    v := regexp_replace(v, '\m(relation|column|constraint|index|table|schema|database|role|function|type|reading|setting|property|module|package|method|field|parameter|argument|operation|handler|queue|topic|trigger|sequence|extension)(:? )["'']([a-z_@./][a-z0-9_$@./-]*)["'']',
      '\1\2\3', 'gi');
    v := regexp_replace(v, '"[^"]*("|$)', '<text>', 'g');
    v := regexp_replace(v, '(^|[^[:alnum:]_])''[^'']*''', '\1<text>', 'g');
  end if;
  if v ~ '[/@\\]' then
    v := regexp_replace(v, '[[:alnum:]_.+%-]+@[[:alnum:]-]+(?:\.[[:alnum:]-]+)+', '<email>', 'g');
    v := regexp_replace(v, '(^|[ (=:,[|])/(?:[[:alnum:]_.@%+~=-]+/?)+(?:\?[^ ]*)?(?::\d+)*', '\1<path>', 'g');
    v := regexp_replace(v, '[a-zA-Z]:\\[^ ]+', '<path>', 'g');
  end if;
  if v ~ '\d' then
    v := regexp_replace(v, '\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?: GMT)?|\m\d\d:\d\d:\d\d(?:[.,]\d+)?\M',
      '<time>', 'g');
    v := regexp_replace(v, '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|(?=[a-zA-Z+/_=-]*\d)[a-zA-Z0-9+/_=-]{24,}', '<id>', 'g');
    v := regexp_replace(v, '(?:\m\d{1,3}(?:\.\d{1,3}){3}|\[?::1\]?):(\d{2,4}|[12]\d{4}|3[01]\d{3})\M', E'<ip>:\u0001\\1', 'g');
    v := regexp_replace(v, '\m\d{1,3}(?:\.\d{1,3}){3}\M', '<ip>', 'g');
    if v ~ ':[0-9a-fA-F]*:' then
      v := regexp_replace(v, '(^|[ [(=])\[?(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{1,4}\]?', '\1<ip>', 'g');
    end if;
    v := regexp_replace(v, '\m(status(?: ?code)?|code|errno|sqlstate)([ :=#(-]{1,4})(\d{1,5}|[0-9A-Z]{5})\M', E'\\1\\2\u0001\\3', 'gi');
    v := regexp_replace(v, '\m(http(?:/\d(?:\.\d)?)?|answered|response|returned|error)([ :=#([]{1,3})([1-5]\d\d)\M', E'\\1\\2\u0001\\3', 'gi');
    v := regexp_replace(v, '(^|: )([1-5]\d\d)(?= [A-Z][a-z])', E'\\1\u0001\\2', 'g');
    v := regexp_replace(v, '(^|\merror |[(:[] ?)([A-Z]{1,6})(-?)(\d{2,5})(?=[:) \]]|$)', E'\\1\u0001\\2\\3\u0001\\4', 'g');
    v := regexp_replace(v, '\m(ERR_[A-Z0-9_]+)\M', E'\u0001\\1', 'g');
    -- Durations, in the forms of a schedule's timeout: one target has schedules with different ones.
    v := regexp_replace(v, '\m(?:\d+(?:\.\d+)?(?:ms|[hms]))+\M', '<n>s', 'g');
    v := regexp_replace(v, E'(?<!\u0001)\\m\\d+(?:[.,]\\d+)*(ms|s|min|h|[kKMGT]i?B|bytes|x|th|st|nd|rd)?\\M', '<n>\1', 'g');
    v := regexp_replace(v, E'(?<!\u0001)\\m\\w*\\d\\w*\\M', '<id>', 'g');
  end if;
  if strpos(v, '<') > 0 then
    v := regexp_replace(v, '<(n|id|text)>(?:, ?<(?:n|id|text)>)+', '<\1>, …', 'g');
  end if;
  return btrim(left(translate(v, E'\u0001', ''), 200));
end $$;
