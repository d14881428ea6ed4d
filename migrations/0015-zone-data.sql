-- The rules of the time zones, as the runtime that plans knows them. When a newer release of the zone data comes with a runtime, the
-- schedules of the zones in which it says something else are planned anew.

create table carillon.zone_data (
  -- As the runtime names it, for example 2026b.
  version text primary key,
  covers_from timestamptz(3) not null,
  covers_until timestamptz(3) not null,
  -- For each zone its offsets: [[from this instant on, this many milliseconds east of UTC], ...], in epoch milliseconds.
  rules jsonb not null
);

-- One row for each release that was newer than the one before it; the newest row is the release in force.
create table carillon.zone_updates (
  id int generated always as identity primary key,
  version text not null constraint zone_updates_version unique,
  -- By which releases schedules may be planned that were not looked at yet; none for the first one recorded.
  from_versions text[] not null,
  -- In which the releases differ.
  zones text[] not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- Schedules up to this id were looked at; null where nobody goes through them now.
  replan_after bigint,
  -- Something failed on the way: this round is not the last of its kind.
  replan_again boolean not null default false,
  -- How often all schedules were gone through.
  rounds int not null default 0,
  -- When they are gone through once more: functions whose runtime is older may have planned by its rules meanwhile.
  look_again_at timestamptz(3),
  -- Schedules of these zones, and those of them that were planned anew.
  checked bigint not null default 0,
  moved bigint not null default 0
);

-- What moved, for a report: the newest are kept.
create table carillon.zone_moves (
  id bigint generated always as identity primary key,
  update_id int not null references carillon.zone_updates (id),
  schedule_id bigint not null,
  key text collate "C" not null,
  timezone text not null,
  -- The next occurrences by the rules before, and by those in force.
  before timestamptz(3)[] not null,
  after timestamptz(3)[] not null
);

-- Read by the report on one release, newest first.
create index zone_moves_update on carillon.zone_moves (update_id, id);

grant select on carillon.zone_data, carillon.zone_updates, carillon.zone_moves to carillon_tick, carillon_api;
grant insert, delete on carillon.zone_data to carillon_tick;
grant insert, update on carillon.zone_updates to carillon_tick;
grant insert, delete on carillon.zone_moves to carillon_tick;
grant usage on sequence carillon.zone_updates_id_seq, carillon.zone_moves_id_seq to carillon_tick;
