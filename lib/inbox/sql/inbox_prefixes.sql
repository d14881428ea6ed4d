-- Lists the prefixes to which the keys of a role are restricted, also through roles of which it is a member.
-- The owner of Carillon and superusers are not restricted. The owner must be the current user:
-- carillon.send_command runs with the rights of the owner.
-- Locks: none.
-- Returns: the prefixes, ascending; null if the role may use all keys.
-- Called by: carillon.send_command.
create or replace function carillon.inbox_prefixes(p_role name) returns text[]
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select array_agg(c.prefix order by c.prefix) from carillon.caller_prefixes c
    where p_role <> current_user and pg_has_role(p_role, c.role, 'member')
      and not (select r.rolsuper from pg_roles r where r.rolname = p_role)
  $$;
