-- Pulses: schedules that leave no row and no write where they fire. Beside each stands one row with everything that a beat needs. A pulse is
-- due at second t where t % every_s = offset_s and starts_s <= t < ends_s; its occurrence, as jobs have one, is t - lag_s.

-- Each distinct target once, so that a beat groups by a small number. A row is deleted a day after no pulse used it any more: a worker may
-- have read the number. Numbers are not given again.
create table carillon.pulse_targets (
  id int generated always as identity primary key,
  -- How many pulses may travel in one message of it. Null: each travels alone.
  batch int,
  target jsonb not null,
  -- Since when no pulse uses it. Null: one does, or the tick has not looked yet.
  unused_at timestamptz(3)
);
-- By digest, because a target may be longer than an index entry.
create unique index pulse_targets_target on carillon.pulse_targets (md5(target::text));

-- Room is left in each page for another payload or a pause in place: neither touches an index.
create table carillon.pulses (
  schedule_id bigint primary key,
  -- The first second at which it beats. Null: it is held, and the hold has no end.
  starts_s bigint,
  -- Null: it never ends.
  ends_s bigint,
  every_s int not null,
  offset_s int not null,
  lag_s int not null,
  target_id int not null,
  shard smallint not null,
  -- The team of its schedule when its cadence began; 0: none. A beat that is divided by teams must find each pulse in one
  -- part, so a team that comes to exist later does not change it.
  team_id int not null default 0,
  -- The members of its envelope that never change, and the closing bracket. A beat puts the id and the times before them.
  rest text not null,
  -- Whether it may have jobs, because it was no pulse before or was fired by hand. An edit of a pulse without jobs need not wait for a claim.
  may_have_jobs boolean not null,
  constraint pulses_interval check (every_s between 1 and 86400),
  constraint pulses_offset check (offset_s >= 0 and offset_s < every_s),
  constraint pulses_lag check (lag_s between 0 and 86400),
  -- A beat reads thousands of them at once.
  constraint pulses_rest_is_small check (octet_length(rest) <= 24576),
  -- Many pulses travel in one message: one that is not JSON would spoil the whole message. Checked here, it costs a beat nothing.
  constraint pulses_rest_is_json check (('{"id":"",' || rest) is json)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
-- Read by beats, for each interval of a shard: pulses that are due at a second; and by the tick: whether there are any.
create index pulses_due on carillon.pulses (shard, every_s, offset_s, team_id, schedule_id);

-- Pulses that were not made or that no target took: of all pulses of a shard between two seconds, or of those of one target.
create table carillon.pulses_passed (
  from_at timestamptz(3) not null,
  to_at timestamptz(3) not null,
  noted_at timestamptz(3) not null,
  count bigint,
  target_id int,
  -- The pulses of this team alone. Null: those of all teams.
  team_id int,
  shard smallint not null,
  reason text not null,
  constraint pulses_passed_is_a_range check (from_at <= to_at),
  constraint pulses_passed_count check (count >= 0)
);
-- Read by explanations of a pulse.
create index pulses_passed_shard on carillon.pulses_passed (shard, to_at);
-- Read by the tick, which deletes old rows, and by reports of recent losses: a target that is gone leaves a row for each second of a shard.
create index pulses_passed_noted on carillon.pulses_passed (noted_at);
-- Read by the tick, which deletes targets that no pulse uses.
create index pulses_target on carillon.pulses (target_id);
