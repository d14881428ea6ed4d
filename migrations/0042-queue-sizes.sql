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

-- What the few rows said that somebody found there is as wrong: nobody who analyzes them, by hand or after a hundred days of them, keeps it.
do $$
declare
  v_column record;
begin
  for v_column in
    select c.relname as table_name, a.attname as column_name
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'carillon'::regnamespace and c.relname in ('backlog', 'inbox', 'lane_entries', 'outbox', 'parcels', 'target_work')
  loop
    execute format('alter table carillon.%I alter column %I set statistics 0', v_column.table_name, v_column.column_name);
    if current_setting('server_version_num')::int >= 180000 then
      perform pg_clear_attribute_stats('carillon', v_column.table_name::text, v_column.column_name::text, false);
    end if;
  end loop;
end $$;

-- Vacuum counts rows as well, and so does who analyzes by hand: the queues, and their indexes of a part of the rows, that were next to empty then. An index
-- that has but its first page is taken for as large as it is, whatever was counted.
create function carillon.queues_counted_empty() returns table (queue oid, name name)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    with queues as materialized (
      select q::regclass::oid as queue
      from unnest(array['carillon.backlog', 'carillon.inbox', 'carillon.lane_entries', 'carillon.outbox', 'carillon.parcels', 'carillon.target_work']) q
    )
    select r.queue, c.relname
    from (
      select q.queue, q.queue as relation from queues q
      union all
      select q.queue, i.indexrelid from queues q join pg_index i on i.indrelid = q.queue and i.indpred is not null
    ) r join pg_class c on c.oid = r.relation
    where c.reltuples >= 0 and c.reltuples < c.relpages and (c.relkind = 'r' or c.relpages > 1)
  $$;

-- Has the planner forget that, of each queue for itself. Not while somebody vacuums one, or grants on it: the next tick does it then. What it takes is there
-- from Postgres 18 on. The plans that are kept of a table are made anew after it, so what was counted with something in it stays: each page that comes counts
-- as so many then.
create function carillon.forget_queue_sizes() returns void
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '200ms'
  as $$
declare
  v_queue oid;
  v_name name;
begin
  if current_setting('server_version_num')::int < 180000 then return; end if;
  for v_queue in select distinct e.queue from carillon.queues_counted_empty() e loop
    begin
      for v_name in select e.name from carillon.queues_counted_empty() e where e.queue = v_queue order by 1 loop
        perform pg_restore_relation_stats('schemaname', 'carillon', 'relname', v_name::text, 'relpages', 0, 'reltuples', (-1)::real, 'relallvisible', 0);
      end loop;
    exception
      when lock_not_available or internal_error or undefined_table or insufficient_privilege then null;
    end;
  end loop;
end $$;

revoke execute on function carillon.queues_counted_empty(), carillon.forget_queue_sizes() from public;
grant execute on function carillon.queues_counted_empty(), carillon.forget_queue_sizes() to carillon_tick;
