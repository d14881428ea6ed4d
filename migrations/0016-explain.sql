-- What was done to a schedule, version by version.

-- Read by the versions of a schedule and where an occurrence is explained: who held it and why.
create index audit_schedule on carillon.audit (schedule_id, version) where schedule_id is not null;
