-- Schedules that go by themselves when they have ended.

alter table carillon.schedules
  -- Of a schedule that goes when it ends: when the tick looks whether it has. Null for all others.
  add column end_look_at timestamptz(3);

-- Read by the tick.
create index schedules_end_look on carillon.schedules (end_look_at) where end_look_at is not null;
