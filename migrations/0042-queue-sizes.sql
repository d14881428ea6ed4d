-- carillon: back to 31
-- Of a table whose rows come and go within a minute, whatever somebody counted is wrong when it is used. Counted while it stood empty it is the worst: the
-- planner then believes in one row, however many come, and that to read an index from end to end costs no more than to look one entry up. Told nothing,
-- it goes by the pages that there are.

create function carillon.queues() returns regclass[]
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select array['carillon.backlog', 'carillon.inbox', 'carillon.lane_entries', 'carillon.outbox', 'carillon.parcels', 'carillon.target_work']::regclass[] $$;

-- Nor does anybody who analyzes them, by hand or after a hundred days of changes, keep what the few rows said that were there.
do $$
declare
  v_queue regclass;
  v_column name;
begin
  foreach v_queue in array carillon.queues() loop
    execute format('alter table %s set (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647)', v_queue);
    for v_column in select a.attname from pg_attribute a where a.attrelid = v_queue and a.attnum > 0 and not a.attisdropped loop
      execute format('alter table %s alter column %I set statistics 0', v_queue, v_column);
      if current_setting('server_version_num')::int >= 180000 then
        perform pg_clear_attribute_stats('carillon', c.relname::text, v_column::text, false) from pg_class c where c.oid = v_queue;
      end if;
    end loop;
  end loop;
end $$;

-- Vacuum counts rows as well, and so does who analyzes by hand: the queues, and their indexes of a part of the rows, that were next to empty then. An index
-- that has but its first page is taken for as large as it is, whatever was counted.
create function carillon.queues_counted_empty() returns table (queue oid, name name)
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

-- Has the planner forget that, of each queue for itself. Not while somebody vacuums one, or grants on it: the next tick does it then. What it takes is there
-- from Postgres 18 on. The plans that are kept of a table are made anew after it, so what was counted with something in it stays: each page that comes counts
-- as so many then.
create function carillon.forget_queue_sizes() returns void
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

revoke execute on function carillon.queues(), carillon.queues_counted_empty(), carillon.forget_queue_sizes() from public;
grant execute on function carillon.queues(), carillon.queues_counted_empty(), carillon.forget_queue_sizes() to carillon_tick;
