-- The rules of the time zones, as the runtime that plans knows them. When a runtime brings a newer release of the zone data, the schedules of
-- the zones that differ are replanned.
create table carillon.zone_data (
  -- As the runtime names it, for example 2026b.
  version text primary key,
  covers_from timestamptz(3) not null,
  covers_until timestamptz(3) not null,
  -- For each zone its offsets: [[from this instant on, milliseconds east of UTC], ...], in epoch milliseconds.
  rules jsonb not null
);

-- One row per release that was newer than the one before it. The newest row is the release in force.
create table carillon.zone_updates (
  id int generated always as identity primary key,
  version text not null constraint zone_updates_version unique,
  -- The releases that schedules which were not looked at yet may be planned by. Empty for the first release.
  from_versions text[] not null,
  -- The zones that differ.
  zones text[] not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- Schedules up to this id were looked at. Null: no walk is under way.
  replan_after bigint,
  -- The walk under way is the first one. It takes a few schedules of each team, so that no team waits for all schedules of another.
  takes_few boolean not null default true,
  -- A schedule failed on the way: another round follows this one.
  replan_again boolean not null default false,
  -- How often all schedules were walked.
  rounds int not null default 0,
  -- When the schedules are walked once more: functions with an older runtime may have planned by its rules meanwhile.
  look_again_at timestamptz(3),
  -- Schedules of these zones, and those of them that were replanned.
  checked bigint not null default 0,
  moved bigint not null default 0
);

-- Schedules whose occurrences moved, for a report. The newest are kept.
create table carillon.zone_moves (
  id bigint generated always as identity primary key,
  update_id int not null references carillon.zone_updates (id),
  schedule_id bigint not null,
  key text collate "C" not null,
  timezone text not null,
  -- The next occurrences by the earlier rules, and by those in force.
  before timestamptz(3)[] not null,
  after timestamptz(3)[] not null
);
-- Read by the report on one release, newest first.
create index zone_moves_update on carillon.zone_moves (update_id, id);
