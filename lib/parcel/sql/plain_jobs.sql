-- Reads the jobs of parcels that may start as they are: no lane or overlap rule applies, the deadline is not
-- over, the schedule is not held, a recheck is not superseded, and queue and target are those of the parcel.
-- p_limited lists the targets with limits, whose jobs are left out where p_target is null. p_from and p_to
-- are the first and the last occurrence.
-- It states the conditions of carillon.startable, list by list: jobs, schedules and versions are read along
-- their indexes, each leaf once and in order, and joined in memory. Looked up one by one they cost half as
-- much again. It has no SET clause, so that it is inlined into the calling statement, which joins well only
-- after carillon.join_lists(true).
-- Locks: none. The caller has passed the gates of the parcels shared, and holds the parcels' rows.
-- Returns: one row for each such job, in any order.
-- Called by: carillon.claim_parcel, carillon.claim_parcels, carillon.claim_company.
create or replace function carillon.plain_jobs(p_parcels bigint[], p_occurrences timestamptz[], p_schedule_ids bigint[], p_from timestamptz, p_to timestamptz,
    p_queue carillon.queue_class, p_target int, p_limited int[], p_now timestamptz)
  returns table (parcel_id bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language sql stable
  as $$
  with s as materialized (
    select s.id, s.spec_version, s.key, s.group_key, s.overlap, s.deadline_ms, s.fresh_version,
      coalesce(s.held_since is null or s.held_until <= p_now, false) as may
    from carillon.schedules s
    where s.id = any(p_schedule_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity' and s.queue = p_queue and s.lane is null
      and case when p_target is not null then s.target_id is not distinct from p_target
        else p_limited = '{}' or s.target_id is null or s.target_id <> all (p_limited) end
  ), common as materialized (
    select mode() within group (order by s.spec_version) as version from s
  )
  select j.parcel_id, j.occurrence, j.schedule_id, j.kind, j.n, j.due_at, j.attempt, j.version, greatest(j.version, s.spec_version), s.key, s.group_key,
    v.target, coalesce(j.payload, v.payload),
    -- Settings that few jobs have travel in one column, which is null for all other jobs.
    case when j.checks is not null or j.forgiven is not null or j.origin is not null or v.body ? 'retry' or v.body ? 'timeout' then
      jsonb_build_object('checks', j.checks, 'forgiven', j.forgiven, 'origin', j.origin, 'retry', v.body -> 'retry', 'timeout', v.body -> 'timeout') end
  from (
    select j.* from carillon.jobs j
    -- The two lists may pair an occurrence with another parcel's schedule, and the old parcel of a job that
    -- was planned again may still list the job. So the job's own parcel_id decides.
    where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.parcel_id = any(p_parcels) and j.state = 'waiting'
      -- Lists prune no partition; the first and the last occurrence do.
      and j.occurrence >= p_from and j.occurrence <= p_to
    offset 0
  ) j
  join s on s.id = j.schedule_id
  join (
    -- A schedule may have had thousands of versions. The version that most of these schedules have is read by
    -- the list, the versions of the others one by one: by two lists, each schedule would be read at every
    -- version that any other has.
    select v.schedule_id, v.version, v.target, v.payload, v.body from carillon.schedule_versions v
    where v.schedule_id = any(p_schedule_ids) and v.version = (select c.version from common c)
    union all
    select v.schedule_id, v.version, v.target, v.payload, v.body
    from s cross join lateral (select v.* from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version offset 0) v
    where s.spec_version <> (select c.version from common c)
  ) v on v.schedule_id = s.id and v.version = s.spec_version
  where (j.kind <> 'again' or coalesce(s.fresh_version, 1) <= j.version) and (s.may or j.kind = 'manual')
    and ((s.overlap is null and (s.deadline_ms is null or j.forgiven is not null or j.attempt > 0 or j.started_at is not null
      or j.due_at + s.deadline_ms * interval '1 millisecond' >= p_now)) or j.kind <> 'cadence')
$$;
