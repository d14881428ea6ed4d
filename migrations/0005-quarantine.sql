-- Rows that a part of Carillon failed on are set aside here, so that the rows behind them go on. Each is retried by itself, later each
-- time, and its entry is deleted when it succeeds.
create table carillon.quarantine (
  -- The part that failed: lib/quarantine/quarantine.ts lists the names.
  consumer text collate "C" not null,
  -- The id of the row in the words of its consumer: of a schedule, a parcel, a command, a hold.
  item text collate "C" not null,
  -- The schedule that waits because of it, where there is one.
  schedule_id bigint,
  -- The error, without values, fit for a log.
  reason text not null,
  -- Facts that the consumer needs for the retry and that the row does not hold.
  detail jsonb,
  first_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  tries int not null,
  next_at timestamptz(3) not null,
  primary key (consumer, item)
);
-- Read by each consumer: entries to be retried.
create index quarantine_next on carillon.quarantine (consumer, next_at);
-- Read by the tick, which deletes entries that no consumer has retried for long.
create index quarantine_forgotten on carillon.quarantine (next_at);
-- Read by edits and explanations of a schedule.
create index quarantine_schedule on carillon.quarantine (schedule_id) where schedule_id is not null;
