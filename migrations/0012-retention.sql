-- Retention: a day of jobs is dropped when everything written in it is older than the retention, no job of it waits, and the archive (if
-- there is one) has it. Schedules that have ended or were deleted are purged after it.

-- Days before this may have been dropped: whether an occurrence had a job can no longer be told.
create table carillon.retention (
  id boolean primary key default true,
  kept_from timestamptz(3) not null,
  constraint retention_has_one_row check (id)
);

-- On which days a late write touched a day of jobs that was long over: a late settle, a retry, a job for a time past. Few rows: a second
-- write of the same two days adds none. Two writes at once may add the row twice, so that neither waits for the other.
create table carillon.stirred_days (
  day date not null,
  on_day date not null
);
-- Read by late writes, and where a day is to be dropped.
create index stirred_days_day on carillon.stirred_days (day, on_day);

-- Why a day past the retention is kept: a waiting parcel with one of its jobs. While it waits, no tick searches the parcels again.
create table carillon.open_days (
  day date primary key,
  parcel_id bigint not null
);

-- The result of a look at all jobs of a day, so that a day is read once: one of its waiting jobs, or nulls where none waits. A write to the day
-- on the day of the look or later (carillon.stirred_days) makes it void.
create table carillon.looked_days (
  day date primary key,
  looked_on date not null,
  occurrence timestamptz(3),
  schedule_id bigint,
  kind carillon.job_kind,
  n int
);

-- How far the archive of a day has come. The row stays when the day is dropped.
create table carillon.archived_days (
  day date primary key,
  -- Raised by each process that takes the archive of the day over; the lease is its own until it ends.
  fence int not null default 0,
  lease_until timestamptz(3),
  -- When reading began: writes to the day from then on are not in the archive.
  begun_at timestamptz(3),
  -- The last archived job, and the number of parts, jobs and attempts so far.
  occurrence timestamptz(3),
  schedule_id bigint,
  kind carillon.job_kind,
  n int,
  parts int not null default 0,
  jobs bigint not null default 0,
  attempts bigint not null default 0,
  -- The largest number of parts so far: a later archive of the day that needs fewer empties the others.
  parts_max int not null default 0,
  archived_at timestamptz(3),
  constraint archived_days_count_up check (least(fence, parts, jobs, attempts, parts_max) >= 0)
);

-- The purge walks all schedules in the order of their ids, some at each tick, and deletes those that are over. So a create or an edit
-- writes nothing for it, and a tick does as much whether there are many schedules or few.
create table carillon.purges (
  id boolean primary key default true,
  -- The last id that it looked at; 0 before a round.
  place bigint not null default 0,
  round_at timestamptz(3),
  constraint purges_has_one_row check (id)
);

-- Since when the purge knows that a schedule is over, where neither a time in its row nor arithmetic tells: schedules that have fired as often
-- as they were to, and lists of single times. An edit makes the row void.
create table carillon.over_schedules (
  schedule_id bigint primary key,
  version int not null,
  since timestamptz(3) not null
);

-- Cadences that no version names any more are deleted by the same kind of walk.
create table carillon.cadence_round (
  id boolean primary key default true,
  -- The last id that was looked at; 0 before a round.
  place int not null default 0,
  look_at timestamptz(3) not null default carillon.clock(),
  constraint cadence_round_has_one_row check (id)
);

-- Targets that no schedule names any more, likewise.
create table carillon.target_round (
  id boolean primary key default true,
  -- The last id that was looked at; 0 before a round.
  place int not null default 0,
  look_at timestamptz(3) not null default carillon.clock(),
  constraint target_round_has_one_row check (id)
);

-- Targets that no pulse uses any more, likewise.
create table carillon.pulse_target_round (
  id boolean primary key default true,
  -- The last id that was looked at; 0 before a round.
  place int not null default 0,
  look_at timestamptz(3) not null default carillon.clock(),
  constraint pulse_target_round_has_one_row check (id)
);
