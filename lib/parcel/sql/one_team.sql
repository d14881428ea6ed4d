-- Names the team of a parcel from the teams of its jobs.
-- Locks: none.
-- Returns: the team, if all jobs are of this team; else null.
-- Called by: carillon.write_outcomes and carillon.retry_jobs; packedJobs in lib/plan/backlog.ts.
create or replace function carillon.one_team(p_teams int[]) returns int
  language sql immutable parallel safe
  as $$ select case when count(t) = count(*) and min(t) = max(t) then min(t) end from unnest(p_teams) t $$;
