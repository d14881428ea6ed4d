-- For how long the oldest transaction of this database has been open, a prepared one or a slot of replication that nobody reads among them: they
-- keep locks, and vacuum from what they might still see. The tick asks, which sees no sessions but its own.
-- carillon: back to 31

-- Null where the owner, whose rights count here, sees no more than that: nobody is to take it for "none".
create function carillon.oldest_transaction_ms() returns bigint
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select case when pg_has_role(current_user, 'pg_read_all_stats', 'usage') then
    coalesce((extract(epoch from clock_timestamp() - min(o.since)) * 1000)::bigint, 0) end
  from (
    -- Vacuum's own workers hold nobody back.
    select a.xact_start as since from pg_stat_activity a
    where a.datname = current_database() and a.backend_type in ('client backend', 'background worker') and a.pid <> pg_backend_pid()
    union all
    select p.prepared from pg_prepared_xacts p where p.database = current_database()
    union all
    -- By name, since a server before 17 does not have it.
    select (to_jsonb(s) ->> 'inactive_since')::timestamptz from pg_replication_slots s
    where not s.active and coalesce(s.xmin, s.catalog_xmin) is not null
  ) o
  $$;
revoke execute on function carillon.oldest_transaction_ms() from public;
grant execute on function carillon.oldest_transaction_ms() to carillon_tick;
