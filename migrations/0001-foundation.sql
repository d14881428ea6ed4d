-- The ground everything stands on: the clock, and the enums whose values are words of the product.

-- "Now" is the database's clock, cut (never rounded up) to the milliseconds that a JavaScript date can hold:
-- rounding up would let a job start a fraction of a millisecond early. One function, so that tests can replace it.
create function carillon.clock() returns timestamptz
  language sql volatile parallel safe
  as $$ select date_trunc('milliseconds', clock_timestamp()) $$;

-- Which SQS queue carries a job: many cheap deliveries together (fast), or few that may take long (slow).
create type carillon.queue_class as enum ('fast', 'slow');

create type carillon.job_kind as enum ('cadence', 'manual', 'backfill', 'again');

-- `running` and `retrying` are not stored: they are `waiting` under a live lease, and `waiting` with attempt >= 1.
create type carillon.job_state as enum ('waiting', 'succeeded', 'skipped', 'dead', 'cancelled');

create type carillon.schedule_change as enum ('created', 'replaced', 'patched', 'paused', 'resumed', 'deleted');
