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
