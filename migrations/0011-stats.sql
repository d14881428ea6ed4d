-- Counts of jobs and of schedules, as small rows that are only inserted and that the tick rolls up. Nothing is counted by a scan of jobs or
-- schedules, and no row is written by many processes.

-- One row per settled parcel and per batch of the tick, and one per rare event.
create table carillon.tallies (
  at timestamptz(3) not null,
  -- Jobs made, of every kind, less those that an edit withdrew before their time.
  fired int,
  succeeded int,
  -- Attempts that failed, with the last ones of dead jobs.
  failed int,
  dead int,
  cancelled int,
  -- Occurrences that were passed over, some as ranges that are not counted one by one. Missed ones are not among the skipped.
  skipped bigint,
  missed bigint,
  -- How late jobs started at first: buckets of carillon.lateness_bucket, and the number of jobs in each.
  late_buckets int[],
  late_jobs int[],
  -- Pulses that their targets took, and pulses that were given up.
  pulses bigint,
  pulses_lost bigint,
  -- Seconds of a shard that were passed over with all their pulses, whose number is not known.
  pulse_seconds_passed bigint,
  -- How late pulses were sent: buckets of carillon.lateness_bucket, and the number of pulses in each.
  pulse_buckets int[],
  pulse_counts bigint[]
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

-- `fired` and `skipped` may be below zero: a job may be withdrawn in a later minute than the one that counted it.
create table carillon.minutes (
  minute timestamptz(3) primary key,
  fired bigint not null default 0,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  dead bigint not null default 0,
  cancelled bigint not null default 0,
  skipped bigint not null default 0,
  missed bigint not null default 0,
  pulses bigint not null default 0,
  pulses_lost bigint not null default 0,
  constraint minutes_count_up check (least(succeeded, failed, dead, cancelled, missed, pulses, pulses_lost) >= 0)
);

create table carillon.minute_lateness (
  minute timestamptz(3) not null,
  bucket int not null,
  jobs bigint not null,
  primary key (minute, bucket),
  constraint minute_lateness_counts_up check (jobs >= 0)
);

-- Apart from the lateness of jobs: a million pulses in time would hide a thousand late jobs.
create table carillon.minute_pulse_lateness (
  minute timestamptz(3) not null,
  bucket int not null,
  pulses bigint not null,
  primary key (minute, bucket),
  constraint minute_pulse_lateness_counts_up check (pulses >= 0)
);

-- Changes of the number of schedules and of held ones, negative where there are fewer. One row per statement that changes them.
create table carillon.schedule_tallies (
  schedules int not null,
  held int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);

-- The mark of the last tick, by which the next one sees a gap.
create table carillon.heartbeat (
  id boolean primary key default true,
  ticked_at timestamptz(3),
  -- When the database server of that tick was started. Another time since: the server was restarted or replaced.
  server_started_at timestamptz(3),
  -- How many claims of each queue had ended without a job by that tick, and the last tick that found more of them than the one before:
  -- workers were at work until then.
  fast_empty_claims bigint,
  slow_empty_claims bigint,
  fast_emptied_at timestamptz(3),
  slow_emptied_at timestamptz(3),
  constraint heartbeat_has_one_row check (id)
);

-- Count the claims of each queue that started no job, because all jobs of their parcel were held, skipped or cancelled. They leave no other
-- trace, and workers may be busy with hundreds of thousands of them. Sequences: a claim waits for no other, and writes no row.
create sequence carillon.fast_empty_claims;
create sequence carillon.slow_empty_claims;

-- The ledger of outages: from when to when no tick ran, no worker of a queue claimed, or the database was away. Written by the tick alone,
-- so an outage of the tick or of the database is noted when it is over.
create table carillon.outages (
  id bigint generated always as identity primary key,
  what text collate "C" not null,
  from_at timestamptz(3) not null,
  -- Null while it lasts.
  to_at timestamptz(3),
  noted_at timestamptz(3) not null,
  constraint outages_what check (what in ('tick', 'database', 'fast-workers', 'slow-workers')),
  constraint outages_is_a_range check (from_at <= to_at)
);
-- Read by lists of outages, by explanations and by the tick: the outages of a kind in order.
create index outages_from on carillon.outages (what, from_at, id);
-- One at a time of each kind, though two ticks run at once.
create unique index outages_open on carillon.outages (what) where to_at is null;

create table carillon.schedule_counts (
  id boolean primary key default true,
  schedules bigint not null,
  held bigint not null,
  -- When a tick last rolled the tallies up.
  rolled_up_at timestamptz(3),
  constraint schedule_counts_has_one_row check (id)
);
