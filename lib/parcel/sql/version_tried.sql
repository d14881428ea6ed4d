-- Tells in which version a worker that died has tried a job, as far as can be told: in the version of the
-- settings in force, or in the version in which it was planned if that is greater. A recheck that an edit has
-- superseded stays in its own version.
-- Locks: none.
-- Returns: the version.
-- Called by: carillon.end_lease, carillon.end_lease_of_some.
create or replace function carillon.version_tried(p_job carillon.jobs, p_schedule carillon.schedules) returns int
  language sql immutable
  set search_path = pg_catalog, pg_temp
  as $$
    select case when p_job.kind = 'again' and coalesce(p_schedule.fresh_version, 1) > p_job.version then p_job.version
      else greatest(p_job.version, p_schedule.spec_version) end
  $$;
