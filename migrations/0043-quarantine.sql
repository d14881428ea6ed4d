-- Rows that a part of Carillon failed on are set aside here, so that the rows behind them go on. Each is tried again by itself, later
-- each time, and leaves this table when it succeeds.
-- carillon: back to 31

create table carillon.quarantine (
  -- The part that failed on the row: lib/quarantine/quarantine.ts lists the names.
  consumer text collate "C" not null,
  -- The row's id in the words of its consumer: of a schedule, a parcel, a command, a hold.
  item text collate "C" not null,
  -- The schedule that waits because of it, where there is one.
  schedule_id bigint,
  -- What failed, without values: as a log may hold it.
  reason text not null,
  -- What the consumer needs to try it again, where the row itself does not tell.
  detail jsonb,
  first_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  tries int not null,
  next_at timestamptz(3) not null,
  primary key (consumer, item)
);

-- Read by each consumer for what is to be tried again.
create index quarantine_next on carillon.quarantine (consumer, next_at);
-- Read by the tick, which drops entries that no consumer has come to since.
create index quarantine_forgotten on carillon.quarantine (next_at);
-- Read by edits and explanations of a schedule.
create index quarantine_schedule on carillon.quarantine (schedule_id) where schedule_id is not null;

grant select, insert, update, delete on carillon.quarantine to carillon_tick, carillon_handler, carillon_api;
