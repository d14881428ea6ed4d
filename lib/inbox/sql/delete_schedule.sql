-- For callers in SQL: writes a command that deletes a schedule. The command is part of the transaction of the
-- caller, and is applied after the commit. A schedule that does not exist by then is no error.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.delete_schedule(key text) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('delete', jsonb_build_object('key', key))) $$;
