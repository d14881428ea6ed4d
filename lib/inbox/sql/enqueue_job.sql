-- For callers in SQL: writes a command for a job without a lasting schedule:
-- `{"target": …, "at"?: "in 5m", "payload"?: …, "key"?: …}`. A job without a key gets one. The command is
-- part of the transaction of the caller, and is applied after the commit.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.enqueue_job(job jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('job', job)) $$;
