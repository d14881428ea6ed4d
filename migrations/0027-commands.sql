-- Commands that come through a queue: late, twice, or out of their order.

-- What the queue knows of a key: which command of each kind was the newest. Locked before anything else by whoever applies a command for
-- the key, so that two who do wait for each other here. A row outlives its schedule: the delete that overtook its put stands in it.
create table carillon.command_marks (
  key text collate "C" primary key,
  -- Rises with each change: who has read the row without a lock finds out whether it still is as read.
  revision int not null default 0,
  -- The newest put or delete, and the newest delete; see lib/ingest/stamp.ts for how they are written.
  base text collate "C",
  gone text collate "C",
  -- The patches since `base`, and of each owner the newest pause or resume since `gone`: null where there are none, as nearly always.
  later jsonb,
  -- A day and no instant: most changes leave it as it is, and write to no index.
  seen_on date not null,
  constraint command_marks_rises check (revision >= 0)
) with (fillfactor = 85);

-- Read by the tick, which forgets what no message can be older than.
create index command_marks_seen on carillon.command_marks (seen_on);

-- Commands that were not applied, and why. What of them must not be shown is hidden by whoever shows them.
create table carillon.dead_commands (
  id bigint generated always as identity primary key,
  message_id text not null,
  -- Where in its message it stands; 0 as well where the message as a whole was not understood.
  place int not null,
  command_id text,
  at timestamptz(3),
  -- Null where not even that could be told.
  key text collate "C",
  refused_at timestamptz(3) not null,
  -- The problem's fields: kind, message, faults.
  refusal jsonb not null,
  -- As it came; null where it cannot be stored, so that nobody can have it tried again.
  command jsonb,
  -- Whether the dead-letter queue has it.
  told boolean not null default false,
  -- A message may come again before it is gone: its commands are dead once.
  constraint dead_commands_once unique (message_id, place)
);

-- Read by the tick, which forgets them after the retention.
create index dead_commands_refused on carillon.dead_commands (refused_at);

-- The function that drains the queue: all that edits need, as the handlers have it, and these tables.
do $$
begin
  begin
    create role carillon_ingest nologin;
  exception when duplicate_object or unique_violation then null;
  end;
  execute format('alter role carillon_ingest in database %I set jit = off', current_database());
  execute format('alter role carillon_ingest in database %I set lock_timeout = %L', current_database(), '5s');
  execute format('alter role carillon_ingest in database %I set statement_timeout = %L', current_database(), '10s');
  execute format('alter role carillon_ingest in database %I set idle_in_transaction_session_timeout = %L', current_database(), '10s');
end $$;
grant carillon_handler to carillon_ingest;
grant usage on schema carillon to carillon_ingest;
grant select, insert, update on carillon.command_marks to carillon_ingest, carillon_api;
grant select, insert, update, delete on carillon.dead_commands to carillon_ingest;
-- The API has dead commands tried again.
grant select, delete on carillon.dead_commands to carillon_api;
-- To lock a mark before it is forgotten takes the right to change it.
grant select, update, delete on carillon.command_marks to carillon_tick;
grant select, delete on carillon.dead_commands to carillon_tick;
