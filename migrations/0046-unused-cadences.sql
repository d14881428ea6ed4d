-- carillon: back to 31
-- carillon: outside a transaction
-- Read where a cadence that no version names is reclaimed, and by the foreign key when it goes: without, both read all versions.
create index concurrently if not exists schedule_versions_cadence on carillon.schedule_versions (cadence_id) where cadence_id is not null;
-- Read where a target is reclaimed that no schedule goes to, deleted ones included. Of one that is not deleted nothing stands in it.
create index concurrently if not exists schedules_deleted_target on carillon.schedules (target_id) where deleted_at is not null and target_id is not null;
