-- carillon: back to 31
-- Of a table whose rows come and go within a minute, whatever somebody counted is wrong when it is used. Counted while it stood empty it is the worst: the
-- planner then believes in one row, however many come, and that to read an index from end to end costs no more than to look one entry up. Told nothing,
-- it goes by the pages that there are.

alter table carillon.backlog set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
alter table carillon.inbox set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
alter table carillon.lane_entries set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
alter table carillon.outbox set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
alter table carillon.parcels set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
alter table carillon.target_work set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);

-- Vacuum counts as well, and so does who analyzes by hand: the queues and indexes of queues that were next to empty when they were counted. An index that
-- has but its first page is taken for as large as it is, whatever was counted.
create function carillon.queues_counted_empty() returns setof name
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    with queues as materialized (
      select q::regclass::oid as oid
      from unnest(array['carillon.backlog', 'carillon.inbox', 'carillon.lane_entries', 'carillon.outbox', 'carillon.parcels', 'carillon.target_work']) q
    )
    select c.relname
    from (select oid from queues union all select i.indexrelid from queues q join pg_index i on i.indrelid = q.oid) r join pg_class c on c.oid = r.oid
    where c.reltuples >= 0 and c.reltuples < c.relpages and (c.relkind = 'r' or c.relpages > 1)
  $$;

-- Has the planner forget that. Not while somebody vacuums: the next tick does it then. What it takes is there from Postgres 18 on. All plans that are kept
-- of such a table are made anew after it, so what was counted with something in it stays: each page that comes counts as so many then.
create function carillon.forget_queue_sizes() returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '200ms'
  as $$
declare
  v_name name;
begin
  if current_setting('server_version_num')::int < 180000 then return; end if;
  for v_name in select n from carillon.queues_counted_empty() n order by 1 loop
    perform pg_restore_relation_stats('schemaname', 'carillon', 'relname', v_name::text, 'relpages', 0, 'reltuples', (-1)::real, 'relallvisible', 0);
  end loop;
exception
  when lock_not_available then null;
end $$;

revoke execute on function carillon.queues_counted_empty(), carillon.forget_queue_sizes() from public;
grant execute on function carillon.queues_counted_empty(), carillon.forget_queue_sizes() to carillon_tick;
