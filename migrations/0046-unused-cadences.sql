-- carillon: back to 31
-- carillon: outside a transaction
-- Read where a cadence that no version names is reclaimed, and by the foreign key when it goes: without, both read all versions.
create index concurrently if not exists schedule_versions_cadence on carillon.schedule_versions (cadence_id) where cadence_id is not null;
