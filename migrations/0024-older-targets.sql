-- Schedules from before targets had rows get theirs by the tick, a few thousand at a time: all at once would rewrite the table.

-- Read by the tick; empty once all have one.
create index schedules_without_target on carillon.schedules (id) where target_id is null;
