-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Lists the sessions of other programs, and their prepared transactions, that hold advisory locks of the given
-- classes in this database. Every login may take them, and they stop Carillon as long as they are held.
-- Left out are the roles of Carillon's functions, their direct members, and the owner, as which migrations run.
-- It runs with the rights of the owner, because another role does not see since when a session or its
-- transaction is there. The owner needs pg_read_all_stats for that.
-- Locks: none.
-- Returns: a row for each session, the oldest first, at most p_limit: its process, its user and the classes;
-- since when its transaction is open, or the session where it is in none, and null if the owner may not see
-- that. A prepared transaction has its name in place of a process.
-- Called by: readForeignLocks in lib/db/foreign-locks.ts.
create or replace function carillon.foreign_locks(p_classes int[], p_limit int)
  returns table (pid int, prepared text, "user" text, classes int[], since timestamptz)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  with locks as materialized (
    select * from pg_locks l where l.locktype in ('advisory', 'transactionid') and l.granted
  ), held as (
    select l.pid, case when l.pid is null then l.virtualtransaction end as virtual, array_agg(distinct l.classid::int) as classes
    from locks l
    where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = any(p_classes::oid[])
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
    group by 1, 2
  ), prepared as (
    -- A prepared transaction keeps the lock on its own id, which tells which one it is.
    select l.virtualtransaction as virtual, p.gid, p.owner, p.prepared as since
    from pg_prepared_xacts p join locks l on l.transactionid = p.transaction and l.pid is null
  ), functions as (
    select r.oid, r.rolname from pg_roles r
    where r.rolname in ('carillon_tick', 'carillon_worker', 'carillon_api', 'carillon_handler', 'carillon_ingest', 'carillon_archive')
  ), own as (
    select f.rolname from functions f
    union select r.rolname from pg_auth_members m join functions f on f.oid = m.roleid join pg_roles r on r.oid = m.member
    union select current_user
  ), sessions as (
    select h.pid, p.gid, coalesce(p.owner, a.usename) as role, h.classes, coalesce(p.since, a.xact_start, a.backend_start) as since
    from held h
    left join pg_stat_activity a on a.pid = h.pid
    left join prepared p on p.virtual = h.virtual
  )
  select s.pid, s.gid, s.role::text, s.classes, s.since from sessions s
  where s.role not in (select o.rolname from own o)
  order by s.since nulls first, s.pid limit p_limit
  $$;

-- Makes the planner forget row counts of queue tables that were counted while nearly empty. Without a count
-- the planner goes by the number of pages.
-- Does nothing before Postgres 18, which brought pg_restore_relation_stats. Each queue is done by itself. A
-- queue whose lock is not granted within 200 ms (a vacuum is running), or whose rights are being changed, is
-- left for the next tick.
-- A count that was taken with rows in the table stays: the planner scales it with the pages, and each reset
-- makes each connection plan the statements on the table again.
-- Locks: queue by queue, and in each by name, the lock that pg_restore_relation_stats takes on a table or an
-- index.
-- Returns: nothing.
-- Called by: prepare in lib/tick/housekeeping/housekeeping.ts, before the tick plans, if carillon.queues_counted_empty has
-- found a table.
create or replace function carillon.forget_queue_sizes() returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '200ms'
  as $$
declare
  v_names text[];
  v_name text;
begin
  if current_setting('server_version_num')::int < 180000 then return; end if;
  for v_names in select array_agg(e.name::text order by e.name) from carillon.queues_counted_empty() e group by e.queue order by 1 loop
    begin
      foreach v_name in array v_names loop
        perform pg_restore_relation_stats('schemaname', 'carillon', 'relname', v_name, 'relpages', 0, 'reltuples', (-1)::real, 'relallvisible', 0);
      end loop;
    exception
      when lock_not_available or internal_error or undefined_table or insufficient_privilege then null;
    end;
  end loop;
end $$;

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

-- Lists the queue tables. Their rows come and go within a minute, so a row count is wrong by the time the
-- planner uses it.
-- A count of the empty table is the worst. The planner then expects one row, however many there are, and
-- takes a walk through a whole index to cost no more than one probe. Without a count it goes by the number of
-- pages.
-- Locks: none.
-- Returns: the tables.
-- Called by: carillon.queues_counted_empty.
create or replace function carillon.queues() returns regclass[]
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select array['carillon.backlog', 'carillon.inbox', 'carillon.lane_entries', 'carillon.outbox', 'carillon.parcels', 'carillon.target_work']::regclass[] $$;

-- Finds the queue tables, and their partial indexes, that were nearly empty when they were counted last:
-- fewer rows than pages. A vacuum counts rows as well, and so does an analyze by hand.
-- An index of one page is left out: the planner takes its real size, whatever the count says.
-- Locks: none.
-- Returns: one row for each such table or index: the queue table and the name of the table or index.
-- Called by: carillon.forget_queue_sizes; pendingBeforeFiring in lib/tick/pending-work.ts, to see whether there is any.
create or replace function carillon.queues_counted_empty() returns table (queue oid, name name)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    with queues as materialized (select q::oid as queue from unnest(carillon.queues()) q)
    select r.queue, c.relname
    from (
      select q.queue, q.queue as relation from queues q
      union all
      select q.queue, i.indexrelid from queues q join pg_index i on i.indrelid = q.queue and i.indpred is not null
    ) r join pg_class c on c.oid = r.relation
    where c.reltuples >= 0 and c.reltuples < c.relpages and (c.relkind = 'r' or c.relpages > 1)
  $$;

-- Leaves out the ids that a lost database may have given out after the backup that this one was restored from.
-- A receiver knows a job by its schedule's id: with the id of a lost schedule, a new one's job would pass for a
-- repetition and be dropped. A message of the lost database would claim a new parcel with its parcel's id. A
-- thousand million ids are years of either; `bigint` has room for as many restores.
-- Locks: none; sequences are outside of the transaction.
-- Returns: nothing.
-- Called by: skipIdsAfterRestore in lib/db/migrate/other-database.ts; by the operator of a server that was
-- restored in its place (docs/restore.md).
create or replace function carillon.skip_ids() returns void
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
  select setval(each, nextval(each) + 1000000000)
  from unnest(array['carillon.parcels_id_seq', 'carillon.schedules_id_seq']::regclass[]) each
$$;

-- Takes one of the seats of a team for a request to the API, until the end of its transaction: so many requests of
-- one team use the database at a time, and the others leave room for other teams. No seat is waited for. A lock
-- is a seat, because it costs no write and ends with a connection that is cut.
-- p_team is a number for the team, p_most the number of its seats. Null: half of the connections that the role may
-- have, and a quarter of those of the server if the role has no limit, as behind a proxy.
-- Locks: a seat, which is a lock of class 13, by a try.
-- Returns: nothing. Fails with CA429 if no seat is free and p_must is true.
-- Called by: takeSeat in lib/db/request-seat.ts.
create or replace function carillon.take_request_seat(p_team int, p_most int, p_must boolean) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_seats int := p_most;
begin
  if v_seats is null then
    select case when r.rolconnlimit < 0 then current_setting('max_connections')::int / 4 else (r.rolconnlimit + 1) / 2 end
    into v_seats from pg_roles r where r.rolname = session_user;
  end if;
  perform from generate_series(1, greatest(1, v_seats)) s
  where pg_try_advisory_xact_lock(13, hashint8(p_team::bigint << 16 | s)) limit 1;
  if not found and p_must then
    raise exception 'No seat is free for this request.' using errcode = 'CA429';
  end if;
end $$;
