-- Commands that come through the ingest queue (late, twice, or out of order) and through the SQL inbox.

-- Memory of the ingest queue for each key: the newest command of each kind. A process that applies a command for the key locks its row before
-- anything else, so that two of them wait for each other here. A row outlives its schedule: it remembers a delete that arrived before its put.
-- Each command rewrites the row.
create table carillon.command_marks (
  key text collate "C" primary key,
  -- Raised with each change: a process that read the row without a lock compares it.
  revision int not null default 0,
  -- The newest put or delete, and the newest delete. lib/ingest/stamp.ts has the format.
  base text collate "C",
  gone text collate "C",
  -- The patches since `base`, and of each owner the newest pause or resume since `gone`. Null where there are none, as nearly always.
  later jsonb,
  -- A day and no instant: most changes leave it as it is and write to no index.
  seen_on date not null,
  constraint command_marks_rises check (revision >= 0)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
-- Read by the tick, which deletes marks that are older than any message can be.
create index command_marks_seen on carillon.command_marks (seen_on);

-- Commands that were not applied, and why. Readers of this table hide the members that must not be shown.
create table carillon.dead_commands (
  id bigint generated always as identity primary key,
  message_id text not null,
  -- The place in its message. Also 0 where the whole message was not understood.
  place int not null,
  command_id text,
  at timestamptz(3),
  -- Null where the command did not tell its key.
  key text collate "C",
  -- The prefix of the keys that its queue reaches. Null where the queue reaches all keys.
  queue_prefix text collate "C",
  refused_at timestamptz(3) not null,
  -- The problem's fields: kind, message, faults.
  refusal jsonb not null,
  -- As it came. Null where it cannot be stored, so that it cannot be retried.
  command jsonb,
  -- Whether the dead-letter queue has it.
  told boolean not null default false,
  -- A message may come again before it is deleted: its commands are dead once.
  constraint dead_commands_once unique (message_id, place)
);
-- Read by the tick, which deletes them after the retention.
create index dead_commands_refused on carillon.dead_commands (refused_at);
-- Read by the problems of a prefix. A key beyond its queue's prefix is one that another team's sender has named.
create index dead_commands_key on carillon.dead_commands (key) where queue_prefix is null or starts_with(key, queue_prefix);

-- The SQL inbox: commands of callers that share the database. A command is written in the caller's own transaction, and a rollback
-- withdraws it. The next tick applies it, or at once a request over HTTP.
create table carillon.inbox (
  id bigint generated always as identity primary key,
  -- When it was called: relative times count from here.
  at timestamptz(3) not null,
  -- The role that logged in.
  caller text not null,
  -- The prefix to which the role was restricted when it called, as the holds of its commands keep it; empty for all keys.
  reach text collate "C" not null,
  -- The key that the command names, as the call has checked it.
  key text collate "C" not null,
  command jsonb not null,
  -- Length of the command as text: limits how much is read at once without reading it.
  bytes int not null,
  -- The caller's commands before this number need not be counted for its quota. Null: they are counted at its next call.
  recount_at bigint
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
-- Read by the applier, which gives turns to the callers that wait, and by a call, which limits how many commands of its caller wait.
create index inbox_caller on carillon.inbox (caller, id);
-- Read by the applier: a command waits for the one before it of the same key.
create index inbox_key on carillon.inbox (key, id);

-- Commands that were refused when they were applied, and why. Members that may hold a credential are removed before.
create table carillon.inbox_refusals (
  id bigint primary key,
  at timestamptz(3) not null,
  refused_at timestamptz(3) not null,
  caller text not null,
  key text collate "C",
  command jsonb not null,
  problem text not null,
  faults jsonb not null
);
-- Read newest first, and deleted oldest first.
create index inbox_refusals_newest on carillon.inbox_refusals (refused_at, id);
-- Read by the problems of a prefix.
create index inbox_refusals_key on carillon.inbox_refusals (key);

-- Callers that may use only keys with a prefix. Members of the role are bound too. By the role's number, so that a new name frees no role.
create table carillon.caller_prefixes (
  role regrole primary key,
  prefix text collate "C" not null
);

-- A caller sees only its own commands: nothing looks behind these views.
create view carillon.inbox_errors with (security_barrier) as
  select r.id, r.at, r.refused_at, r.caller, r.key, r.command, r.problem, r.faults
  from carillon.inbox_refusals r where r.caller = session_user::text;

create view carillon.inbox_status with (security_barrier) as
  select count(*) as waiting, min(i.at) as oldest_at from carillon.inbox i where i.caller = session_user::text;
