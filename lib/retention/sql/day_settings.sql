-- Gives the storage settings for one day of a parent table, as `create table … with` takes them.
-- Locks: none.
-- Returns: the settings as text.
-- Called by: carillon.attach_days.
create or replace function carillon.day_settings(p_parent text) returns text
  language sql immutable
  as $$
    select case p_parent
      -- A settle updates a job once, in place: the free room keeps that update out of the index. The dead row
      -- is removed by the next statement that comes to the page. Vacuum comes when half of the rows are dead
      -- or new, and freezes the rows, since a day lives for weeks.
      when 'jobs' then 'fillfactor = 50, autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_vacuum_scale_factor = 0.5, autovacuum_freeze_min_age = 0'
      -- Rows are inserted, read once and dropped within days: none is ever dead or worth freezing.
      when 'plan' then 'fillfactor = 100, autovacuum_vacuum_insert_threshold = -1'
      else 'fillfactor = 100' end
  $$;
