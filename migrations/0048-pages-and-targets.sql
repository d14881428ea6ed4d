-- carillon: back to 31
-- Claims bring no large payload: a parcel of 250 jobs may have 60 MB of them, and a worker has several parcels. Targets that nothing goes to any more, as
-- purged schedules leave them, are reclaimed: a hand goes round all of them by their ids, some at each tick.

-- Whether a payload is small as it is stored, found without unpacking it: what was compressed or put aside may be 240 KB. Stable, as what it asks is: else it
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

-- Since when the hand has found that nothing goes to it. Null: something does, or the hand has not come by.
alter table carillon.targets add column unused_at timestamptz(3);

create table carillon.target_round (
  id boolean primary key default true,
  -- The last id that has been looked at; 0 before a round.
  place int not null default 0,
  look_at timestamptz(3) not null default carillon.clock(),
  constraint target_round_has_one_row check (id)
);

insert into carillon.target_round default values;

-- As in 0018, but one that is marked as unused is used from now on. No lock is taken where it is not marked, since schedules share few targets: a put that
-- had read it before the mark is through long before the mark counts (carillon.is_long_unused). Where it is being deleted, its row is waited for.
create or replace function carillon.target_named(p_name text) returns int
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_id int;
  v_unused_at timestamptz;
begin
  -- Again where it was deleted, or made, between two of these statements.
  for v_try in 1 .. 10 loop
    select t.id, t.unused_at into v_id, v_unused_at from carillon.targets t where t.name = p_name;
    if v_id is null then
      insert into carillon.targets (name) values (p_name) on conflict do nothing returning id into v_id;
    elsif v_unused_at is not null then
      update carillon.targets t set unused_at = null where t.id = v_id returning t.id into v_id;
    end if;
    if v_id is not null then return v_id; end if;
  end loop;
  raise exception 'The target % was neither made nor found.', p_name;
end $$;

-- A mark counts when each transaction that may have read the target before it has ended. The longest of ours are as long as a worker's invocation, eleven
-- minutes; Postgres ends one that idles for ten seconds.
create function carillon.is_long_unused(p_target carillon.targets, p_now timestamptz) returns boolean
  language sql stable
  as $$ select coalesce(p_target.unused_at < p_now - interval '1 day', false) $$;

-- Whether neither a schedule, deleted ones included, nor a parcel goes there, and nothing was ever set for it: each change of its limits is counted in
-- `revision`, and a number that a caller has is not given again. Handlers stay: they are the deployment's own, few, and have traits. Parcels that are in
-- none of these indexes are under a lease, and were claimed while a schedule went there.
create function carillon.is_unused(p_target carillon.targets) returns boolean
  language sql stable
  as $$
    select p_target.concurrency is null and p_target.rate_count is null and p_target.set_at is null
      and p_target.revision = 1
      and not starts_with(p_target.name, 'handler/')
      and not exists (select from carillon.schedules s where s.target_id = p_target.id and s.target_id is not null and s.deleted_at is null offset 0)
      and not exists (select from carillon.schedules s where s.target_id = p_target.id and s.target_id is not null and s.deleted_at is not null offset 0)
      and not exists (select from carillon.parcels p where p.target_id = p_target.id and p.slots is not null offset 0)
      and not exists (select from carillon.parcels p where p.target_id = p_target.id and p.turn = 'waits' offset 0)
      and not exists (select from carillon.parcels p
        where p.target_id = p_target.id and p.queue = 'slow' and p.lease_until is null and p.turn is null offset 0)
  $$;

-- Looks at the next p_max targets, and answers with those of which carillon.reclaim_targets has something to write down.
create function carillon.targets_to_reclaim(p_max int) returns table (looked int, ids int[])
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_place int;
  v_looked int[];
begin
  select r.place into v_place from carillon.target_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select t.id from carillon.targets t where t.id > v_place order by t.id limit p_max);
  ids := array(
    select t.id from carillon.targets t
    where t.id = any(v_looked) and (carillon.is_long_unused(t, v_now) or (t.unused_at is null) = carillon.is_unused(t)) order by t.id);
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.target_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = v_now + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;

-- Of these targets deletes those whose mark counts, marks those that are unused, and takes the mark off those that are used. One that an edit is about to name
-- is locked, and passed over; locked here, it keeps that edit waiting until it is gone, and the edit makes it again. Whether they are unused is a statement
-- of its own: it sees what was committed before the lock. Answers how many are gone.
create function carillon.reclaim_targets(p_ids int[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_locked int[];
  v_unused int[];
  v_gone int;
begin
  v_locked := array(select t.id from carillon.targets t where t.id = any(p_ids) order by t.id for update skip locked);
  v_unused := array(select t.id from carillon.targets t where t.id = any(v_locked) and carillon.is_unused(t));
  delete from carillon.targets t where t.id = any(v_unused) and carillon.is_long_unused(t, v_now);
  get diagnostics v_gone = row_count;
  update carillon.targets t set unused_at = case when t.id = any(v_unused) then v_now end
  where t.id = any(v_locked) and (t.unused_at is null) = (t.id = any(v_unused));
  return v_gone;
end $$;

revoke execute on function carillon.is_long_unused(carillon.targets, timestamptz), carillon.is_unused(carillon.targets),
  carillon.targets_to_reclaim(int), carillon.reclaim_targets(int[]) from public;
grant execute on function carillon.targets_to_reclaim(int), carillon.reclaim_targets(int[]) to carillon_tick;
grant select on carillon.target_round to carillon_tick;
