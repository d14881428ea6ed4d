-- Sorts a lateness into a bucket. Bucket 0 is below a millisecond; bucket b is from 1.1 ^ (b - 1) up to
-- 1.1 ^ b milliseconds. lib/stats/lateness.ts reads the buckets back.
-- Locks: none.
-- Returns: the bucket; null for a null lateness, which callers give for a job that did not start for the
-- first time.
-- Called by: carillon.write_outcomes, write_successes and end_lease for jobs; carillon.settle_pulses for
-- pulses; sumsBySteps in lib/stats/ledger-sums.ts for jobs of the ledger.
create or replace function carillon.lateness_bucket(p_late interval) returns int
  language sql immutable parallel safe
  as $$ select case when p_late is not null then 1 + floor(ln(greatest(date_part('epoch', p_late) * 1000, 0.95)) / ln(1.1::float8) + 1e-9)::int end $$;
