-- Jobs, and what is kept about them.

-- The primary key is the guarantee: at most one job per (occurrence, schedule, kind, n), whatever is repeated. The occurrence comes first,
-- so that jobs of one instant are inserted side by side. A schedule's history is found by probing the occurrences that its versions had,
-- which needs no second index on the hottest table. Partitioned by day, so that old jobs are dropped and not deleted.
create table carillon.jobs (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  due_at timestamptz(3) not null,
  -- The parcel that carries the job while it waits. A parcel that lists a job with another parcel's id does not own the job.
  -- A settled job keeps the parcel that it was settled in: its times are in carillon.parcel_times.
  parcel_id bigint,
  -- Null: at `due_at`. Set after a failed attempt, to the end of its backoff.
  ready_at timestamptz(3),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  kind carillon.job_kind not null default 'cadence',
  n int not null default 0,
  version int not null,
  state carillon.job_state not null default 'waiting',
  attempt smallint not null default 0,
  reason text,
  error text,
  payload jsonb,
  -- For a recheck: how many rechecks there have been with it since the job of its schedule.
  checks smallint,
  -- For a recheck: the job that asked for the first one.
  root_occurrence timestamptz(3),
  root_kind carillon.job_kind,
  root_n int,
  -- Attempts from before the job was retried by command: the retry policy does not count them.
  forgiven smallint,
  -- The job was cancelled while it ran: its settle does not retry it.
  cancel_asked boolean,
  shard smallint,
  -- When its target began with the first attempt, in milliseconds after `started_at`. Null: less than 50, or not known.
  target_ms int,
  -- The id that receivers know the job by, if its first attempt was in another installation. Null for all others.
  origin text,
  primary key (occurrence, schedule_id, kind, n),
  constraint jobs_waiting_has_parcel check (case state when 'waiting' then parcel_id is not null when 'skipped' then parcel_id is null else true end),
  constraint jobs_settled_has_finish check ((state = 'waiting') = (finished_at is null)),
  constraint jobs_skipped_never_started check (state <> 'skipped' or (started_at is null and attempt = 0 and reason is not null)),
  constraint jobs_succeeded_had_attempt check (state <> 'succeeded' or (started_at is not null and attempt >= 1)),
  constraint jobs_dead_had_attempt check (state <> 'dead' or (attempt >= 1 and reason is not null)),
  constraint jobs_never_early check (started_at >= due_at)
) partition by range (occurrence);

-- Jobs of every kind but cadence. A schedule's versions tell where its cadence jobs are; these may be anywhere.
create table carillon.jobs_beside (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  n int not null,
  kind carillon.job_kind not null,
  shard smallint,
  -- Read by the history of one schedule, newest first.
  primary key (schedule_id, occurrence, kind, n),
  constraint jobs_beside_is_no_cadence check (kind <> 'cadence')
) partition by range (occurrence);
-- Read wherever a schedule is read: its rechecks, which most schedules do not have.
create index jobs_beside_again on carillon.jobs_beside (schedule_id, occurrence, n) where kind = 'again';

-- Attempts that did not simply succeed: failed, crashed and cancelled ones, and those of jobs that needed more than one.
create table carillon.attempts (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  kind carillon.job_kind not null,
  n int not null,
  attempt smallint not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3) not null,
  outcome text not null,
  error text,
  error_class text,
  stack text,
  shard smallint,
  -- For a failed attempt: the group of its error, see error_groups.
  error_group text collate "C",
  -- Its times are in carillon.parcel_times.
  parcel_id bigint,
  -- When its target began, in milliseconds after `started_at`. Null: less than 50, or not known.
  target_ms int,
  primary key (occurrence, schedule_id, kind, n, attempt),
  constraint attempts_outcome check (outcome in ('succeeded', 'failed', 'crashed', 'cancelled'))
) partition by range (occurrence);

-- Dead jobs, found without an index on the state of jobs, which each settle would have to write.
create table carillon.dead_jobs (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  died_at timestamptz(3) not null,
  n int not null,
  kind carillon.job_kind not null,
  shard smallint,
  -- Why it died, as the job says it, and the error group of its last attempt: a group of dead jobs is counted from this table alone.
  reason text,
  error_group text collate "C",
  -- The team of its schedule when it died; 0: none. A schedule that is older than its team gets it later, and its dead jobs keep what they have.
  team_id int not null default 0,
  primary key (occurrence, schedule_id, kind, n)
) partition by range (occurrence);
-- Read by lists of dead jobs, newest first.
create index dead_jobs_died on carillon.dead_jobs (died_at, schedule_id);
-- Read by the list of one schedule's dead jobs.
create index dead_jobs_schedule on carillon.dead_jobs (schedule_id, died_at);
-- Read by the list and the bulk retry of one error group.
create index dead_jobs_group on carillon.dead_jobs (error_group, died_at);
-- Read by lists and counts of a prefix of many schedules: the dead jobs of other teams are not looked at.
create index dead_jobs_team on carillon.dead_jobs (team_id, died_at);
-- Read by those of an error group and such a prefix.
create index dead_jobs_team_group on carillon.dead_jobs (team_id, error_group, died_at);

-- Error groups: each is a target and a normalised error of a class. One row for each group and day of its jobs, and now and then two: a group
-- is dropped with the days of its jobs, and no row is ever changed, so that settles of the same fault do not wait for each other.
create table carillon.error_groups (
  -- The occurrence of the first job that failed so: it gives the row its day.
  occurrence timestamptz(3) not null,
  id text collate "C" not null,
  target text not null,
  class text,
  error text not null
) partition by range (occurrence);
-- Read by each settle of a failed job, and by the list of error groups.
create index error_groups_id on carillon.error_groups (id);

-- Which request retried or cancelled a job, for as long as the job is kept. A request for many jobs has one entry in the audit, and a row here for
-- each of its jobs.
create table carillon.job_requests (
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  -- The entry of the audit.
  at timestamptz(3) not null,
  audit_id bigint not null,
  n int not null,
  kind carillon.job_kind not null,
  -- Read by the explanation of a cancelled or retried job.
  primary key (occurrence, schedule_id, kind, n, at, audit_id)
) partition by range (occurrence);
-- Read by the list and the count of the jobs of one request, newest first.
create index job_requests_entry on carillon.job_requests (audit_id, occurrence, schedule_id, kind, n);

-- Ranges of occurrences that got no job, with the reason. Written evenly and purged in large numbers.
create table carillon.passed_over (
  schedule_id bigint not null,
  from_at timestamptz(3) not null,
  to_at timestamptz(3) not null,
  count bigint not null,
  -- Counting stopped at a bound: "at least count".
  more boolean not null default false,
  reason text not null,
  noted_at timestamptz(3) not null,
  shard smallint,
  constraint passed_over_is_a_range check (from_at <= to_at and count >= 1)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
-- Read by the history of one schedule, newest first.
create index passed_over_schedule on carillon.passed_over (schedule_id, to_at);
-- Read by the series of schedules by prefix, tag or target, newest first; and by the agenda of all schedules: ranges that end in a window or
-- after it.
create index passed_over_to on carillon.passed_over (to_at, schedule_id, from_at);

-- How many jobs in a row are dead, for schedules with `hold_after`. No row: the last job is not dead.
create table carillon.failure_runs (
  schedule_id bigint primary key,
  failures int not null,
  shard smallint,
  constraint failure_runs_count_up check (failures >= 0)
);

-- Holds that a settle asks for after dead jobs. Setting a hold is an edit, whose locks a settle must not wait for: the tick sets it.
create table carillon.wanted_holds (
  id bigint generated always as identity primary key,
  schedule_id bigint not null,
  -- The hold is not set if the schedule has another version by then.
  version int not null,
  at timestamptz(3) not null,
  reason text not null,
  shard smallint
);
