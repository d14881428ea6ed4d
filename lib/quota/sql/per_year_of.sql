-- Gives the fires of a year that quotas count, by the columns of a schedule: the number that firesPerYear in
-- lib/cadence/fires-per-year.ts gives for its cadence and its slot.
-- Locks: none.
-- Returns: the number; 0 for a single instant.
-- Called by: carillon.assign_team; carillon.recount_usage; storedUsage in lib/quota/stored-usage.ts.
create or replace function carillon.per_year_of(p_rule bigint, p_own bigint) returns bigint
  language sql stable
  as $$
    select case when p_own is not null then p_own when p_rule < 0 then 31556952000 / -p_rule
      else coalesce((select c.per_year from carillon.cadences c where c.id = p_rule), 0) end
  $$;
