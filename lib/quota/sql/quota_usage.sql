-- Counts what prefixes use of their quotas. Schedules of longer prefixes count too. Written bytes are
-- those of the current day in UTC. Tokens, holds and commands
-- are those of callers whose first prefix it is.
-- Locks: none.
-- Returns: a row for each prefix.
-- Called by: quotasOf in lib/quota/read-quotas.ts.
create or replace function carillon.quota_usage(p_prefixes text[])
  returns table (prefix text, schedules bigint, per_year bigint, payload_bytes bigint, written_bytes bigint, tokens bigint, holds bigint, inbox_rows bigint)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select p.prefix, coalesce(u.schedules, 0), coalesce(u.per_year, 0)::bigint, coalesce(u.payload_bytes, 0)::bigint, coalesce(u.written_bytes, 0)::bigint,
      (select count(*) from carillon.tokens t
        where coalesce(t.team, t.prefix) = p.prefix collate "C" and t.name !~* '^(iam|jwt|stack):'),
      (select count(*) from carillon.shared_holds h where h.team = p.prefix collate "C"),
      (select count(*) from carillon.caller_prefixes c join pg_roles r on r.oid = c.role
        join carillon.inbox i on i.caller = r.rolname::text where c.prefix = p.prefix collate "C")
    from unnest(p_prefixes) p (prefix)
    cross join (select (carillon.clock() at time zone 'UTC')::date as today) d
    cross join lateral (
      select sum(u.schedules) as schedules, sum(u.per_year) as per_year, sum(u.payload_bytes) as payload_bytes,
        sum(u.written_bytes) filter (where u.written_on >= d.today) as written_bytes
      from carillon.teams t join carillon.usage u on u.team_id = t.id
      where t.prefix >= p.prefix collate "C" and t.prefix < (p.prefix || chr(1114111)) collate "C") u
  $$;
