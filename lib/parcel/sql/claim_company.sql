-- Claims further parcels at the target of a claimed parcel, for the same worker: those that wait for a turn,
-- in their order, then ready ones of the same priority. It takes p_most parcels at most, each only if all of
-- its jobs may start as they are. Together with the first parcel they hold no more jobs than take half a
-- second.
-- They take no place at the target. The worker runs their jobs in the places of the first parcel and settles
-- that one last. At a target with limits there is no company: a limit counts by the parcel.
-- The claim waits for no edit and for no claim that gives turns: it passes over what is locked. Its commit
-- does not wait for the disk, as in carillon.claim_parcels.
-- Locks: the first parcel's row, shared; the gates of the others' shards (class 2), shared, each by a try;
-- the others' rows with skip locked; at last the first parcel's row with skip locked. It does not lock the
-- target.
-- Returns: rows as of carillon.claim_parcels; none if the fence is not the caller's, the lease has ended, the
-- target has limits or no parcel fits. A parcel without a row of its own is not claimed: ignore its job rows.
-- Called by: claimCompany in lib/parcel/claim-together.ts.
create or replace function carillon.claim_company(p_parcel bigint, p_fence int, p_most int, p_lease_ms int)
  returns table (parcel bigint, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, due_at timestamptz, attempt smallint,
    planned_version int, version int, key text, group_key text, target jsonb, payload jsonb, more jsonb)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off set enable_nestloop = on
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_head carillon.parcels;
  v_target carillon.targets;
  v_room int;
  v_next bigint[];
  v_gates smallint[];
  v_ids bigint[];
  v_fences int[];
  v_sizes int[];
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_from timestamptz;
  v_to timestamptz;
  v_count int;
begin
  -- Before the others' rows: a transaction that ends the first parcel's lease locks this row, and then wants
  -- parcels that wait. Shared, as handlers' transactions that settle a job of the parcel hold it.
  select p.* into v_head from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.lease_until >= v_now for share;
  select t.* into v_target from carillon.targets t where t.id = v_head.target_id and t.concurrency is null and t.rate_count is null;
  v_room := carillon.jobs_a_turn(v_target.cost_ms) - cardinality(v_head.occurrences);
  if v_room is null or v_room <= 0 then return; end if;
  -- More than it takes: other claims look for parcels here at the same time.
  v_next := array(select d.id from carillon.due_turns(v_target.id, v_now, 4 * p_most, true) d);
  if cardinality(v_next) < 4 * p_most then
    v_next := v_next || array(select r from carillon.ready_parcels(v_target.id, v_now, 4 * p_most - cardinality(v_next)) r);
  end if;
  v_gates := array(
    select g.shard from (select distinct p.shard from carillon.parcels p where p.id = any(v_next) order by 1) g
    where pg_try_advisory_xact_lock_shared(2, g.shard));
  v_now := carillon.clock();
  with free as materialized (
    select p.id, carillon.next_fence(p.fence) as fence, cardinality(p.occurrences) as size, p.turn is null as ready,
      array_position(v_next, p.id) as place, p.occurrences, p.schedule_ids
    from carillon.parcels p
    where p.id = any(v_next) and p.shard = any(v_gates) and p.queue = 'slow' and cardinality(p.occurrences) <= v_room
      and (coalesce(p.turn, 'granted') = 'waits'
        or (p.turn is null and p.lease_until is null and p.ready_at <= v_now and coalesce(p.priority, 0) = coalesce(v_head.priority, 0)))
      and coalesce(p.lane, '') = '' and coalesce(p.held_schedule, 0) = 0 and p.owed is not true and p.alone is not true
    order by p.turn is null, array_position(v_next, p.id) limit p_most for update skip locked
  ), fitting as materialized (
    select f.* from (select f.*, sum(f.size) over (order by f.ready, f.place) as jobs from free f) f where f.jobs <= v_room
  )
  select p.ids, p.fences, p.sizes, l.first, l.last, l.occurrences, l.schedule_ids
  into v_ids, v_fences, v_sizes, v_from, v_to, v_occurrences, v_schedule_ids
  from (select array_agg(f.id) as ids, array_agg(f.fence) as fences, array_agg(f.size) as sizes from fitting f) p
  cross join (
    select min(k.occurrence) as first, max(k.occurrence) as last, array_agg(k.occurrence) as occurrences, array_agg(k.schedule_id) as schedule_ids
    from fitting f cross join lateral unnest(f.occurrences, f.schedule_ids) k (occurrence, schedule_id)
  ) l;
  if v_ids is null then return; end if;

  perform set_config('synchronous_commit', 'off', true);
  perform carillon.join_lists(true);
  return query
    select j.parcel_id, j.occurrence, j.schedule_id, nullif(j.kind, 'cadence'), nullif(j.n, 0), nullif(j.due_at, j.occurrence), nullif(j.attempt, 0::smallint),
      nullif(j.planned_version, j.version), j.version, j.key, j.group_key, j.target, j.payload, j.more
    from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'slow', v_target.id, '{}', v_now) j;
  get diagnostics v_count = row_count;
  if v_count < cardinality(v_occurrences) then
    -- A parcel with a job that may not start as it is stays as it was, for a claim of its own.
    select array_agg(c.id), array_agg(c.fence) into v_ids, v_fences
    from unnest(v_ids, v_fences, v_sizes) c (id, fence, size)
    join (
      select j.parcel_id, count(*) as jobs
      from carillon.plain_jobs(v_ids, v_occurrences, v_schedule_ids, v_from, v_to, 'slow', v_target.id, '{}', v_now) j group by 1
    ) j on j.parcel_id = c.id and j.jobs = c.size;
  end if;
  perform carillon.join_lists(false);
  if v_ids is null then return; end if;
  update carillon.parcels p set turn = null, ready_at = v_now, fence = c.fence, claimed_at = v_now,
    lease_until = v_now + p_lease_ms * interval '1 millisecond', offer_at = v_now + p_lease_ms * interval '1 millisecond', company = 1 + cardinality(v_ids)
  from unnest(v_ids, v_fences) c (id, fence) where p.id = c.id;
  -- A row that a handler's transaction has locked is not waited for. Without the number the cost of its jobs
  -- is counted a little too high.
  update carillon.parcels p set company = 1 + cardinality(v_ids)
  where p.id = (select h.id from carillon.parcels h where h.id = p_parcel for update skip locked);
  return query
    select c.id, null::timestamptz, null::bigint, null::carillon.job_kind, null::int, null::timestamptz, null::smallint, null::int, null::int, null::text,
      null::text, null::jsonb, null::jsonb, jsonb_build_object('fence', c.fence, 'claimedAt', v_now)
    from unnest(v_ids, v_fences) c (id, fence);
end $$;
