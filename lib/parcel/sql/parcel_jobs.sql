-- Says how many jobs of a target travel in one parcel, from 1 to 250. Fast: as many as the target's limit of
-- jobs at once, or of one team's jobs at once where that is less, which callers give as p_concurrency. Slow: as many as take half a second in the places that they may have, and no fewer than these
-- places, which would be done no sooner; as many as a worker has places if the cost is not known. With a
-- rate: no more than may start in one second.
-- Locks: none.
-- Returns: the number of jobs.
-- Called by: packedJobs in lib/plan/packed-jobs.ts, which packs new jobs; carillon.enter_target,
-- carillon.merge_turns and carillon.wait_where_full.
create or replace function carillon.parcel_jobs(p_queue carillon.queue_class, p_concurrency int, p_rate_count int, p_rate_ms int, p_cost_ms real) returns int
  language sql immutable parallel safe
  as $$
    select greatest(1, least(250, case
        when p_queue = 'fast' then p_concurrency
        when p_cost_ms is null then carillon.side_by_side()
        else greatest(p.places, floor(least(p.places * 500 / greatest(p_cost_ms, 0.001), 250))) end,
      p_rate_count::bigint * 1000 / p_rate_ms))::int
    from (select least(carillon.side_by_side(), p_concurrency) as places) p
  $$;
