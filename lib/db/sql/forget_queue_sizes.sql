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
