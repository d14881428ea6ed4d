-- Makes the rechecks of jobs that the calling settle has just written as succeeded: for each a job of kind
-- `again` at p_at, in a parcel of its own, with the payload of the job if it has one of its own. A job whose
-- schedule was edited or deleted since it was claimed gets none: its reason is `superseded`. The days of the
-- rechecks must be attached (carillon.attach_missing_days). A payload of its own counts in the quota of the
-- schedule's team: the settle cannot be refused, but the team's next edit can.
-- Locks: only what it inserts, and rows of carillon.usage as carillon.note_usage does. The caller holds the
-- gates of the schedules shared, so that no edit comes between.
-- Returns: the parcels of the rechecks, each ready at the instant of its recheck.
-- Called by: carillon.write_outcomes, if an outcome is `again`.
create or replace function carillon.make_rechecks(p_parcel carillon.parcels, p_now timestamptz, p_occurrences timestamptz[], p_schedule_ids bigint[],
    p_kinds carillon.job_kind[], p_ns int[], p_at timestamptz[])
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_recheck record;
  v_n int;
begin
  -- In one order for all callers: two that make a recheck for the same instant of a schedule wait for each
  -- other.
  for v_recheck in
    select date_trunc('milliseconds', r.at) as at, s.id as schedule_id, s.shard, s.lane, s.queue, s.team_id, s.version, coalesce(j.checks, 0) + 1 as checks, j.payload,
      nextval('carillon.parcels_id_seq') as parcel, coalesce(j.root_occurrence, j.occurrence) as root_occurrence,
      coalesce(j.root_kind, j.kind) as root_kind, coalesce(j.root_n, j.n) as root_n
    from unnest(p_occurrences, p_schedule_ids, p_kinds, p_ns, p_at) r (occurrence, schedule_id, kind, n, at)
    join carillon.jobs j on j.occurrence = r.occurrence and j.schedule_id = r.schedule_id and j.kind = r.kind and j.n = r.n
      and j.state = 'succeeded' and j.parcel_id = p_parcel.id and j.reason is distinct from 'superseded'
    join carillon.schedules s on s.id = r.schedule_id
    order by s.id, 1, r.occurrence, r.kind, r.n
  loop
    select coalesce(max(o.n) + 1, 0) into v_n from carillon.jobs o
    where o.occurrence = v_recheck.at and o.schedule_id = v_recheck.schedule_id and o.kind = 'again';
    loop
      insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version, kind, n, checks, payload, root_occurrence, root_kind, root_n,
        shard)
      values (v_recheck.at, v_recheck.schedule_id, v_recheck.at, v_recheck.parcel, v_recheck.version, 'again', v_n, v_recheck.checks,
        v_recheck.payload, v_recheck.root_occurrence, v_recheck.root_kind, v_recheck.root_n, v_recheck.shard)
      on conflict do nothing;
      exit when found;
      v_n := v_n + 1;
    end loop;
    if v_recheck.payload <> 'null' and v_recheck.team_id is not null then
      perform carillon.note_usage(array[v_recheck.team_id], array[(v_recheck.schedule_id / 262144)::int], array[0], array[0]::bigint[], array[0]::bigint[],
        array[carillon.payload_bytes(v_recheck.payload)::bigint]);
    end if;
    insert into carillon.jobs_beside (occurrence, schedule_id, kind, n, shard)
    values (v_recheck.at, v_recheck.schedule_id, 'again', v_n, v_recheck.shard);
    insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
    select v_recheck.lane, v_recheck.at, v_recheck.at, v_recheck.schedule_id, 'again', v_n where v_recheck.lane is not null
    on conflict do nothing;
    return query
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, priority, team_id, occurrences, schedule_ids, kinds, ns)
      values (v_recheck.parcel, v_recheck.shard, v_recheck.queue, v_recheck.at, greatest(p_now + interval '20 seconds', v_recheck.at - interval '150 seconds'),
        case when v_recheck.queue = p_parcel.queue then p_parcel.target_id end, p_parcel.priority, v_recheck.team_id,
        array[v_recheck.at], array[v_recheck.schedule_id], array['again'::carillon.job_kind], array[v_n])
      returning parcels.id, parcels.queue, parcels.ready_at;
  end loop;
end $$;
