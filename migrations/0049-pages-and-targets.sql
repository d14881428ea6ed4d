-- Claims tell no large payload: a parcel of 250 jobs may have 60 MB of them, and a worker has several parcels.
-- carillon: back to 31

-- Whether a payload is small as it is stored, told without unpacking it: what was compressed or put aside may be 240 KB. Stable, as what it asks is: else it
-- does not become a part of the statement that asks, and costs a call for each job.
create or replace function carillon.is_light(p_payload jsonb, p_bytes int) returns boolean
  language sql stable parallel safe
  as $$ select p_payload is null or (pg_column_compression(p_payload) is null and pg_column_size(p_payload) <= p_bytes) $$;

-- The payloads of jobs that are claimed in these versions: a job's own, or what the version asks for; null where neither is there any more. In the order
-- of the lists, from the first on, as many as have p_bytes together, or the first alone. Each is unpacked and written out once, and none behind the page.
create function carillon.payload_page(
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

revoke execute on function carillon.is_light(jsonb, int),
  carillon.payload_page(timestamptz[], bigint[], carillon.job_kind[], int[], int[], int) from public;
grant execute on function carillon.is_light(jsonb, int),
  carillon.payload_page(timestamptz[], bigint[], carillon.job_kind[], int[], int[], int) to carillon_worker;
