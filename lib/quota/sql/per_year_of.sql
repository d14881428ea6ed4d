-- Gives the occurrences of an average year by the rule of a schedule: the number that firesPerYear in
-- lib/cadence/fires-per-year.ts gives for its cadence.
-- Locks: none.
-- Returns: the number; 0 for a single instant.
-- Called by: carillon.assign_team; carillon.recount_usage; storedUsage in lib/quota/stored-usage.ts.
create or replace function carillon.per_year_of(p_rule bigint) returns bigint
  language sql stable
  as $$
    select case when p_rule < 0 then 31556952000 / -p_rule
      else coalesce((select c.per_year from carillon.cadences c where c.id = p_rule), 0) end
  $$;
