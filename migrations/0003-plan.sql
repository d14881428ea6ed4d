-- The plan: "this schedule, in this version, is due next at this instant". Rows are only inserted: an edit raises the schedule's version,
-- and the rows of older versions are passed over. The tick reads the plan once, in order, behind a watermark that only rises.

create table carillon.shards (
  id smallint primary key,
  -- Everything up to this pair has become jobs. A pair, because many schedules may share an instant.
  watermark_at timestamptz(3) not null,
  watermark_schedule bigint not null,
  -- How far ahead of the watermark jobs may exist: a batch makes the jobs of its schedules up to its horizon.
  reached_at timestamptz(3) not null,
  -- Rows that are due before this are in the near plan (daily partitions), later ones in the far table.
  near_until timestamptz(3) not null,
  -- Parcels of pulses exist up to this second.
  pulsed_to timestamptz(3) not null default date_trunc('second', carillon.clock()),
  -- The tick counts days and seconds from these instants. With an infinite one it fails for the shard, or never fires it again.
  constraint shards_lines_are_instants check (isfinite(watermark_at) and isfinite(reached_at) and isfinite(near_until) and isfinite(pulsed_to))
) with (fillfactor = 50);

create table carillon.plan (
  due_at timestamptz(3) not null,
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  every_ms bigint,
  version int not null,
  cadence_id int,
  shard smallint not null,
  -- The schedule has rules beyond its cadence (an end, a limit of fires, a calendar, a catch-up policy of its own): the tick reads them for
  -- these rows only.
  governed boolean
) partition by range (due_at);
-- Read by the tick: a shard's rows beyond its watermark up to the horizon, in order.
create index plan_due on carillon.plan (shard, due_at, schedule_id);

-- Loses a day of rows at each midnight and takes in as many during a day: vacuum frees the room soon.
create table carillon.plan_far (
  like carillon.plan
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
-- Read by the tick when rows come near. With the schedule, because many far rows are due at one instant and a page may end among them.
create index plan_far_due on carillon.plan_far (shard, due_at, schedule_id);

-- Occurrences that become jobs slowly, so that they never delay jobs that are due now: catch-up after an outage or a pause, and backfills.
create table carillon.backlog (
  id bigint generated always as identity primary key,
  schedule_id bigint not null,
  version int not null,
  -- How many of the lists, from their beginning, have become jobs. A row is deleted when all have.
  taken int not null default 0,
  shard smallint not null,
  kind carillon.job_kind not null default 'cadence',
  -- When the row was served last, or found to be held. The row with the earliest instant is next.
  turn_at timestamptz(3) not null,
  noted_at timestamptz(3) not null,
  -- Rising. No other row and no job of this kind has any of them.
  occurrences timestamptz(3)[] not null,
  dues timestamptz(3)[] not null,
  next_occurrence timestamptz(3) not null generated always as (occurrences[taken + 1]) stored,
  owing int not null generated always as (cardinality(occurrences) - taken) stored,
  last_occurrence timestamptz(3) not null generated always as (occurrences[cardinality(occurrences)]) stored,
  -- The target of the row's jobs where they travel apart from those of other targets; 0 where they travel together, and where the target is not known
  -- yet. It is a hint: the tick compares it with the schedule when the row's turn comes, and corrects it.
  target_id int not null default 0,
  -- The team of the row's schedule, 0 for none; a hint too.
  team_id int not null default 0,
  constraint backlog_lists_match check (cardinality(occurrences) between 1 and 10000 and cardinality(dues) = cardinality(occurrences)),
  constraint backlog_is_owed check (taken >= 0 and taken < cardinality(occurrences))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
-- Read by the tick: the rows of one team at one target in the order of their turns.
create index backlog_line on carillon.backlog (target_id, team_id, turn_at, id);
-- Read by the tick: whether any row is next.
create index backlog_turn on carillon.backlog (turn_at, id);
-- Read by claims in a lane, by backfills, edits and reads of one schedule.
create index backlog_schedule on carillon.backlog (schedule_id, next_occurrence);
-- Read by the agenda: rows that end in a window or after it.
create index backlog_last on carillon.backlog (last_occurrence, schedule_id, id) where kind = 'cadence';
