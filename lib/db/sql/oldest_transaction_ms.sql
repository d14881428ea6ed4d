-- Measures for how long the oldest open transaction of this database has been open. Prepared transactions
-- count, and so do replication slots of the server that have no reader and hold back vacuum. All of these
-- keep locks, or keep vacuum from removing rows that they might still see.
-- Left out are the caller's own session and autovacuum workers. Before Postgres 17, slots are left out too:
-- the server does not tell since when they have had no reader.
-- It runs with the rights of the owner, because the tick sees only its own sessions. The owner needs
-- pg_read_all_stats.
-- Locks: none.
-- Returns: milliseconds; 0 if no transaction is open; null if the owner may not see the other sessions. Null
-- means "unknown", not "none".
-- Called by: oldestTransactionMs in lib/tick/housekeeping/measure.ts.
create or replace function carillon.oldest_transaction_ms() returns bigint
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select case when pg_has_role(current_user, 'pg_read_all_stats', 'usage') then
    coalesce((extract(epoch from clock_timestamp() - min(o.since)) * 1000)::bigint, 0) end
  from (
    -- Autovacuum workers are left out: they hold back no other transaction.
    select a.xact_start as since from pg_stat_activity a
    where a.datname = current_database() and a.backend_type in ('client backend', 'background worker') and a.pid <> pg_backend_pid()
    union all
    select p.prepared from pg_prepared_xacts p where p.database = current_database()
    union all
    -- Read through JSON: a server before Postgres 17 does not have this column.
    select (to_jsonb(s) ->> 'inactive_since')::timestamptz from pg_replication_slots s
    where not s.active and coalesce(s.xmin, s.catalog_xmin) is not null
  ) o
  $$;
