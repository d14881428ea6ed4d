-- Cancels the rechecks of a claimed parcel whose schedule has newer settings than the recheck, with the
-- reason `superseded`, and takes them out of their lanes. Nearly always the edit has cancelled them itself.
-- Left to the claim is a recheck that failed and was put up for retry while the edit was made.
-- Locks: the rechecks, then their lanes (class 4) and the parcels that wait there. The claim holds the gate
-- shared and the parcel's row.
-- Returns: the parcels that are next in these lanes, to be sent.
-- Called by: carillon.claim_parcel, when fewer jobs may simply start than the parcel lists.
create or replace function carillon.cancel_superseded(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_occurrences timestamptz[];
  v_schedule_ids bigint[];
  v_ns int[];
begin
  if p_parcel.kinds is null or not 'again' = any(p_parcel.kinds) then return; end if;
  with cancelled as (
    update carillon.jobs j set state = 'cancelled', reason = 'superseded', parcel_id = null, ready_at = null, finished_at = p_now
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n), carillon.schedules s
    where k.kind = 'again' and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
      and j.state = 'waiting' and j.parcel_id = p_parcel.id
      and s.id = k.schedule_id and s.deleted_at is null and coalesce(s.fresh_version, 1) > j.version
    returning j.occurrence, j.schedule_id, j.n
  )
  select array_agg(c.occurrence), array_agg(c.schedule_id), array_agg(c.n) into v_occurrences, v_schedule_ids, v_ns from cancelled c;
  if v_occurrences is null then return; end if;
  return query
    select f.id, f.queue
    from carillon.leave_lanes(v_occurrences, v_schedule_ids, array_fill('again'::carillon.job_kind, array[cardinality(v_ns)]), v_ns, p_now) f;
end $$;
