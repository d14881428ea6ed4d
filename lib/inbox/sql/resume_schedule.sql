-- For callers in SQL: writes a command that releases the hold of the role that logged in. The command is part
-- of the transaction of the caller, and is applied after the commit.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.resume_schedule(key text) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('resume', jsonb_build_object('key', key))) $$;
