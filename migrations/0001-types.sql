-- Types that tables of several nouns share, and the clock.

-- The SQS queue that carries a job: `fast` for many cheap deliveries in one message, `slow` for few deliveries that may take long.
create type carillon.queue_class as enum ('fast', 'slow');

-- How a job came to be: by its schedule's cadence, fired by hand, made for a past occurrence by a backfill, or asked for by a handler (a recheck).
create type carillon.job_kind as enum ('cadence', 'manual', 'backfill', 'again');

-- `running` and `retrying` are not stored: a job is running while it is `waiting` in a parcel with a live lease, and retrying while it is `waiting` with attempt >= 1.
create type carillon.job_state as enum ('waiting', 'succeeded', 'skipped', 'dead', 'cancelled');

-- The change that made a version. `replanned`: the schedule's calendar or the rules of its time zone changed, not the schedule.
create type carillon.schedule_change as enum
  ('created', 'replaced', 'patched', 'paused', 'resumed', 'deleted', 'restored', 'replanned');

-- The rule for a job that is due while an earlier job of its schedule is not settled.
create type carillon.overlap_rule as enum ('skip', 'queue');

-- A parcel of a limited target waits for its turn, or was granted one and has not been claimed since.
create type carillon.parcel_turn as enum ('waits', 'granted');

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
