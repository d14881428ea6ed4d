-- Writes the waiting jobs of these parcels, which were claimed at one moment, as succeeded. p_own has the own
-- times of all of their jobs; null: all ended now, as nearly always.
-- Locks: the jobs. The caller has deleted the parcels.
-- Returns: the jobs as written. target_ms is that of this attempt.
-- Called by: carillon.write_successes.
create or replace function carillon.mark_succeeded(p_parcels bigint[], p_claimed_at timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_now timestamptz, p_own carillon.own_time[])
  returns table (occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, attempt smallint, due_at timestamptz, shard smallint,
    parcel_id bigint, finished_at timestamptz, target_ms int)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_from timestamptz;
  v_to timestamptz;
begin
  if p_own is null then
    select min(o), max(o) into v_from, v_to from unnest(p_occurrences) o;
    return query
      update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, ready_at = null, error = null,
        started_at = coalesce(j.started_at, p_claimed_at), finished_at = p_now
      -- By the two lists, as the claim reads them. The own parcel_id of a job decides.
      where j.occurrence = any(p_occurrences) and j.schedule_id = any(p_schedule_ids) and j.state = 'waiting' and j.parcel_id = any(p_parcels)
        and j.occurrence >= v_from and j.occurrence <= v_to
      returning j.occurrence::timestamptz, j.schedule_id, j.kind, j.n, j.attempt, j.due_at::timestamptz, j.shard, j.parcel_id, p_now, null::int;
    return;
  end if;
  return query
    update carillon.jobs j set state = 'succeeded', attempt = j.attempt + 1, ready_at = null, error = null,
      started_at = coalesce(j.started_at, p_claimed_at), finished_at = o.ended_at,
      target_ms = case when j.started_at is null then carillon.target_ms(p_claimed_at, o.began_at) else j.target_ms end
    from (
      select w.occurrence, w.schedule_id, w.kind, w.n, t.began_at, t.ended_at
      from unnest(p_own) w cross join lateral carillon.own_times(p_claimed_at, p_now, p_now, w.started_ms, w.ended_ms) t
    ) o
    where j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n and j.state = 'waiting'
      and j.parcel_id = any(p_parcels)
    returning j.occurrence::timestamptz, j.schedule_id, j.kind, j.n, j.attempt, j.due_at::timestamptz, j.shard, j.parcel_id, o.ended_at,
      carillon.target_ms(p_claimed_at, o.began_at);
end $$;
