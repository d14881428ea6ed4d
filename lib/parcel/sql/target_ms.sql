-- Tells how long after its claim the target of a job began. Less than 50 ms are not kept: nearly all jobs begin
-- at once, and their rows stay as they are.
-- Locks: none.
-- Returns: milliseconds; null for less than 50.
-- Called by: carillon.write_outcomes, carillon.mark_succeeded.
create or replace function carillon.target_ms(p_claimed_at timestamptz, p_began_at timestamptz) returns int
  language sql stable parallel safe
  as $$ select case when p_began_at >= p_claimed_at + interval '50 milliseconds' then (extract(epoch from p_began_at - p_claimed_at) * 1000)::int end $$;
