-- Reads payloads of claimed jobs, in the order of the lists from the first on: as many as have p_bytes
-- together, or the first alone. A payload is the job's own, or else that of the settings in force in the
-- version p_versions. Each is unpacked once, and one behind the page at most.
-- Locks: none.
-- Returns: one payload as text for each job of the page; null if neither payload exists any more.
-- Called by: readPage in lib/parcel/heavy-payloads.ts.
create or replace function carillon.payload_page(
  p_occurrences timestamptz[], p_schedule_ids bigint[], p_kinds carillon.job_kind[], p_ns int[], p_versions int[], p_bytes int)
  returns setof text
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_payload text;
  v_bytes bigint := 0;
begin
  for i in 1 .. cardinality(p_schedule_ids) loop
    v_payload := coalesce(
      (select j.payload from carillon.jobs j
       where j.occurrence = p_occurrences[i] and j.schedule_id = p_schedule_ids[i] and j.kind = p_kinds[i] and j.n = p_ns[i]),
      (select v.payload from carillon.schedule_versions c join carillon.schedule_versions v on v.schedule_id = c.schedule_id and v.version = c.spec_version
       where c.schedule_id = p_schedule_ids[i] and c.version = p_versions[i]))::text;
    v_bytes := v_bytes + coalesce(octet_length(v_payload), 0);
    exit when i > 1 and v_bytes > p_bytes;
    return next v_payload;
  end loop;
end $$;
