-- For callers in SQL: writes a command that sets a hold in the name of the role that logged in. The command
-- is part of the transaction of the caller, and is applied after the commit. An infinite `until` is passed on
-- as it is, and carillon.inbox_fault refuses it.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.pause_schedule(key text, reason text default null, until timestamptz default null) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select carillon.send_command(jsonb_build_object('pause', jsonb_strip_nulls(jsonb_build_object('key', key, 'reason', reason,
      'until', case when isfinite(until) then to_char(until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') else until::text end))))
  $$;
