-- Writes all jobs of these parcels, which were claimed at one moment, as succeeded in the versions in which
-- they were planned, with attempts, tallies and events for the bus (p_notify). Their target
-- began p_target_ms after the claim (null: at once) and ended at p_ended_at (null: now). p_owed: they are of the backlog, and
-- their lateness is not counted.
-- Locks: the jobs, and rows of failure_runs. The caller has deleted the parcels.
-- Returns: nothing.
-- Called by: carillon.settle_parcel, if no outcomes are given; carillon.settle_parcels.
create or replace function carillon.write_successes(p_parcels bigint[], p_claimed_at timestamptz, p_owed boolean, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_now timestamptz, p_notify text[], p_target_ms int default null, p_ended_at timestamptz default null)
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_from timestamptz;
  v_to timestamptz;
begin
  select min(o), max(o) into v_from, v_to from unnest(p_occurrences) o;
  with updated as (
    update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, ready_at = null, error = null,
      started_at = coalesce(j.started_at, p_claimed_at), finished_at = coalesce(p_ended_at, p_now),
      target_ms = case when j.started_at is null then p_target_ms else j.target_ms end
    -- By the two lists, as the claim reads them. The own parcel_id of a job decides.
    where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.state = 'waiting' and j.parcel_id = any(p_parcels)
      and j.occurrence >= v_from and j.occurrence <= v_to
    returning j.occurrence, j.schedule_id, j.kind, j.n, j.attempt, j.due_at, j.shard, j.parcel_id
  ), tallied as (
    -- Most jobs of a parcel are due at the same instant: grouped by instant first, then by the few buckets of
    -- these groups.
    insert into carillon.tallies (at, succeeded, late_buckets, late_jobs)
    select p_now, sum(t.jobs), array_agg(t.bucket) filter (where t.bucket is not null), array_agg(t.jobs) filter (where t.bucket is not null)
    from (
      select case when d.first and p_owed is not true then carillon.lateness_bucket(p_claimed_at - d.due_at) end as bucket, sum(d.jobs)::int as jobs
      from (select u.due_at, u.attempt = 1 as first, count(*) as jobs from updated u group by 1, 2) d group by 1
    ) t having count(*) > 0
  ), told as (
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'succeeded', u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, p_now, p_now + interval '30 seconds'
    from updated u where 'succeeded' = any(p_notify)
  )
  insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, shard, parcel_id, target_ms)
  select u.occurrence, u.schedule_id, u.kind, u.n, u.attempt, p_claimed_at, coalesce(p_ended_at, p_now), 'succeeded', u.shard, u.parcel_id, p_target_ms
  from updated u where u.attempt > 1;
  -- Nearly always there is none.
  if exists (select from carillon.failure_runs) then
    delete from carillon.failure_runs f using unnest(p_schedule_ids) k (schedule_id) where f.schedule_id = k.schedule_id;
  end if;
end $$;
