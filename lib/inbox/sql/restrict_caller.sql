-- For the owner of Carillon: restricts a role and its members to keys that begin with the prefix. An earlier
-- prefix of the role is replaced. A null prefix lifts the restriction. A prefix may end with a blank, though
-- a key may not. The prefix has quotas from then on. Commands that wait keep the reach of their call.
-- Locks: the row of the role in caller_prefixes; then as carillon.keep_team.
-- Returns: nothing. Raises SQLSTATE 22023 if there is no such role, or if no key can begin with the prefix.
-- Called by: the owner of Carillon by hand (docs/sql.md); no code of Carillon.
create or replace function carillon.restrict_caller(role_name text, key_prefix text) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_role oid := (select r.oid from pg_roles r where r.rolname = role_name);
begin
  if v_role is null then
    raise exception 'There is no role %', coalesce(to_json(role_name)::text, 'null') using errcode = '22023';
  end if;
  if key_prefix is null then
    delete from carillon.caller_prefixes where role = v_role::regrole;
  elsif carillon.inbox_key_fault(rtrim(key_prefix, ' ')) is not null then
    raise exception 'The prefix cannot begin a key: it %', carillon.inbox_key_fault(rtrim(key_prefix, ' ')) using errcode = '22023';
  else
    insert into carillon.caller_prefixes (role, prefix) values (v_role::regrole, key_prefix)
    on conflict (role) do update set prefix = excluded.prefix;
    perform carillon.keep_team(key_prefix);
  end if;
end $$;
