-- Lifecycle events: the messages for the event bus about jobs, and about occurrences that have no job.

-- Which events are on. The tick keeps this row equal to its setting; functions that pass occurrences over read it.
create table carillon.lifecycle (
  id boolean primary key default true,
  events text[] not null,
  constraint lifecycle_has_one_row check (id)
);

-- Events that are not sent yet, written in the transaction that they tell of and deleted when the bus has them.
create table carillon.outbox (
  id bigint generated always as identity primary key,
  -- When the tick sends it: the process that wrote it sends it at once, and may die before.
  offer_at timestamptz(3) not null,
  at timestamptz(3) not null,
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  n int not null,
  kind carillon.job_kind not null,
  event text not null,
  attempt smallint not null,
  detail jsonb,
  -- How often it was sent without success. 0: any process may send it before `offer_at`.
  tries smallint not null default 0,
  constraint outbox_event check (event in ('started', 'succeeded', 'failed', 'dead', 'skipped', 'missed'))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2147483647);
-- Read by the tick.
create index outbox_offer on carillon.outbox (offer_at);
-- Read by workers after a settle: events that were not sent yet.
create index outbox_fresh on carillon.outbox (id) where tries = 0;
