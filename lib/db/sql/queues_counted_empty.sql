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
