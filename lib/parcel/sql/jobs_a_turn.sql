-- Says how many jobs of a slow target without limits one worker does in half a second, in all its places. At
-- most 2,500: one worker has to hold them.
-- Locks: none.
-- Returns: the number, 0 if a single job takes too long; null if the cost is not known.
-- Called by: carillon.claim_company, carillon.company_of, carillon.grant_turns.
create or replace function carillon.jobs_a_turn(p_cost_ms real) returns int language sql immutable parallel safe
  as $$ select case when p_cost_ms is not null then floor(least(carillon.side_by_side() * 500 / greatest(p_cost_ms, 0.001), 2500))::int end $$;
