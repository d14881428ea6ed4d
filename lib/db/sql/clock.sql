-- Tells the time by the clock of the database. Decisions about schedules and jobs use this clock alone.
-- The time is cut to milliseconds, because a JavaScript date holds no more. It is never rounded up: a job
-- could then start a fraction of a millisecond early. Two calls in one statement may differ. It is a function
-- so that tests can replace it.
-- Locks: none.
-- Returns: the present instant, in whole milliseconds.
-- Called by: most SQL functions, most TypeScript files with a statement about time, and defaults of columns.
-- lib/db/database-clock.ts reads it alone.
create or replace function carillon.clock() returns timestamptz
  language sql volatile parallel safe
  as $$ select date_trunc('milliseconds', clock_timestamp()) $$;
