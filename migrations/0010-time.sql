-- Time beyond plain cadences: windows, calendars, overrides for clock changes, holds that end by themselves, limits.
-- Every new column is null for a plain schedule, which costs it nothing.

alter type carillon.schedule_change add value 'restored';
-- Planned anew without having been changed: its calendar was, or the rules of its time zone.
alter type carillon.schedule_change add value 'replanned';

-- Named lists of days on which schedules that refer to them do not run. Each version is kept: cadences name the version
-- they were resolved with, so that what was planned and what is explained later never shift under an edit.
create table carillon.calendars (
  id int generated always as identity primary key,
  name text collate "C" not null,
  version int not null default 1,
  created_at timestamptz(3) not null,
  created_by text not null,
  updated_at timestamptz(3) not null,
  updated_by text not null,
  -- Deleted ones stay for what was planned by them; the name is free again.
  deleted_at timestamptz(3)
);

create unique index calendars_live_name on carillon.calendars (name) where deleted_at is null;

create table carillon.calendar_versions (
  id int generated always as identity primary key,
  calendar_id int not null references carillon.calendars (id),
  version int not null,
  description text,
  rules jsonb not null,
  changed_at timestamptz(3) not null,
  changed_by text not null,
  constraint calendar_versions_number unique (calendar_id, version)
);

alter table carillon.cadences
  add column dst text not null default '',
  add column calendar_version int references carillon.calendar_versions (id),
  add column calendar_on text,
  drop constraint cadences_meaning,
  add constraint cadences_meaning unique nulls not distinct (expression, timezone, dst, calendar_version, calendar_on),
  add constraint cadences_calendar check ((calendar_version is null) = (calendar_on is null) and calendar_on in ('skip', 'next', 'previous'));

alter table carillon.schedules
  -- When the last of the holds ends by itself; null where none stands or one has no end.
  add column held_until timestamptz(3),
  add column calendar_id int references carillon.calendars (id),
  add column max_fires int,
  -- Cadence jobs made since `max_fires` was set.
  add column fires int,
  add constraint schedules_hold_has_begun check (held_until is null or held_since is not null),
  add constraint schedules_fires_are_limited check ((max_fires is null) = (fires is null));

-- Read when a calendar changes, and before one is deleted.
create index schedules_calendar on carillon.schedules (calendar_id, id) where calendar_id is not null and deleted_at is null;

-- Read where an edit or the tick lets holds go whose end has come.
create index schedules_held_until on carillon.schedules (held_until) where held_until is not null and deleted_at is null;

-- A hold set on a group or a tag stands on each of its members as a hold of its own, so that letting go of one never lets go of another.
alter table carillon.holds
  add column scope text not null default 'schedule',
  add column name text collate "C" not null default '',
  drop constraint holds_pkey,
  add primary key (schedule_id, scope, name, owner),
  add constraint holds_scope check (scope in ('schedule', 'group', 'tag') and (scope = 'schedule') = (name = ''));

-- Read when a hold of a group or a tag is let go: the members it stands on.
create index holds_shared on carillon.holds (scope, name, owner, schedule_id) where scope <> 'schedule';

-- What binds later members too.
create table carillon.shared_holds (
  scope text not null,
  name text collate "C" not null,
  owner text not null,
  reason text,
  since timestamptz(3) not null,
  until timestamptz(3),
  primary key (scope, name, owner),
  constraint shared_holds_scope check (scope in ('group', 'tag'))
);

alter table carillon.schedule_versions
  add column starts_at timestamptz(3),
  add column ends_at timestamptz(3),
  add column held_until timestamptz(3);

-- A row whose schedule has rules that arithmetic alone does not tell (an end, a limit, slots, a catch-up policy of its own):
-- the tick reads them for these rows alone.
alter table carillon.plan add column governed boolean;
alter table carillon.plan_far add column governed boolean;

-- What waits for a hold that ends by itself is ready when it ends.
alter table carillon.parcels drop constraint parcels_held_forever;

grant select on carillon.calendars, carillon.calendar_versions to carillon_tick, carillon_api;
grant insert, update on carillon.calendars to carillon_api;
grant insert on carillon.calendar_versions to carillon_api;
grant usage on all sequences in schema carillon to carillon_api;
grant select on carillon.shared_holds to carillon_tick, carillon_api;
grant insert, update, delete on carillon.shared_holds to carillon_api;
grant delete on carillon.shared_holds to carillon_tick;
