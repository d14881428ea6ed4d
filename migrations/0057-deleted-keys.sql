-- carillon: back to 31
-- carillon: outside a transaction
-- Read where a key has had schedules before: what queued commands of the key meet, explanations and histories. A key that is put and deleted each minute has
-- thousands of them, and all were read each time: the index before had the key alone.
create index concurrently if not exists schedules_deleted_key_at on carillon.schedules (key, deleted_at) where deleted_at is not null;
-- safe: the new index answers all that this one did.
drop index concurrently if exists carillon.schedules_deleted_key;
