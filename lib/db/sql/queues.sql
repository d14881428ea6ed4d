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
