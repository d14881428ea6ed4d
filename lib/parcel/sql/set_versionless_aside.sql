-- Moves the jobs of a claimed parcel out of it whose schedule has no row of its version in carillon.schedule_versions, as a restore of single tables
-- leaves it, and sets them aside under `claim`: the tick sends a message for each retry. Jobs of one schedule share a parcel and an entry, of 250 jobs
-- at most: otherwise a schedule that is due each minute would have an entry for each job. The new parcel has no target, so it takes no place there and
-- is filled into no other parcel until its claim finds the version. It keeps the tries of the entry of the parcel that its jobs leave.
-- Locks: the entry of the parcel and a parcel that takes more jobs, both with skip locked; then the jobs. The caller has the claimed parcel.
-- Returns: the entries that are new or were tried again.
-- Called by: carillon.claim_parcel, where it found fewer jobs than the parcel lists.
create or replace function carillon.set_versionless_aside(p_parcel carillon.parcels, p_now timestamptz)
  returns table (item text, schedule_id bigint, reason text, tries int, next_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_own record;
  v_id bigint;
  v_first_at timestamptz;
  v_tries int;
begin
  for v_own in
    select s.id, format('The stored version %s has no row in carillon.schedule_versions.', s.spec_version) as reason,
      array_agg(j.occurrence order by j.occurrence, j.kind, j.n) as occurrences, array_agg(j.kind order by j.occurrence, j.kind, j.n) as kinds,
      array_agg(j.n order by j.occurrence, j.kind, j.n) as ns, array_agg(s.id) as schedule_ids
    from unnest(p_parcel.occurrences, p_parcel.schedule_ids, p_parcel.kinds, p_parcel.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.parcel_id = p_parcel.id and j.state = 'waiting'
      offset 0) j
    cross join lateral (select s.* from carillon.schedules s where s.id = j.schedule_id offset 0) s
    where coalesce(s.deleted_at, 'infinity') = 'infinity'
      and not exists (select from carillon.schedule_versions v where v.schedule_id = s.id and v.version = s.spec_version)
    group by s.id, s.spec_version
  loop
    if v_tries is null then
      -- An entry that another transaction has locked stays until the next tick, which deletes it because its parcel is gone.
      delete from carillon.quarantine q where q.ctid = (
        select o.ctid from carillon.quarantine o where o.consumer = 'claim' and o.item = p_parcel.id::text for update skip locked)
      returning q.first_at, q.tries into v_first_at, v_tries;
      v_tries := least(greatest(coalesce(v_tries, 0), 0), 1000000000) + 1;
    end if;
    v_id := null;
    select p.id into v_id
    from carillon.quarantine q join carillon.parcels p on p.id = case when q.item ~ '^[0-9]{1,18}$' then q.item::bigint end
    where q.consumer = 'claim' and q.schedule_id = v_own.id and q.reason = v_own.reason and p.id <> p_parcel.id and p.shard = p_parcel.shard
      and p.queue = p_parcel.queue and p.lease_until is null and p.lane is null and p.target_id is null and p.priority is not distinct from p_parcel.priority
      and coalesce(p.owed, false) = coalesce(p_parcel.owed, false) and p.alone is not true and p_parcel.alone is not true
      and p.kinds is not null and v_own.id = all (p.schedule_ids) and cardinality(p.occurrences) + cardinality(v_own.occurrences) <= 250
    limit 1 for update of p skip locked;
    if v_id is not null then
      update carillon.parcels p set occurrences = p.occurrences || v_own.occurrences, schedule_ids = p.schedule_ids || v_own.schedule_ids,
        kinds = p.kinds || v_own.kinds, ns = p.ns || v_own.ns
      where p.id = v_id;
      -- Two claims at once do not see each other's parcel: then there are two entries, until the first of them is tried again.
      if v_tries > 1 then
        return query
          update carillon.quarantine q set first_at = least(q.first_at, v_first_at), last_at = p_now, tries = greatest(q.tries, v_tries),
            next_at = greatest(q.next_at, p_now + interval '1 minute' * power(2, least(v_tries - 1, 6)))
          where q.consumer = 'claim' and q.item = v_id::text
          returning q.item, q.schedule_id, q.reason, q.tries, q.next_at;
      end if;
    else
      v_id := nextval('carillon.parcels_id_seq');
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, priority, team_id, owed, alone, made_at, sent_at, occurrences, schedule_ids, kinds,
        ns)
      values (v_id, p_parcel.shard, p_parcel.queue, p_now, p_now + interval '1 minute', p_parcel.priority, p_parcel.team_id, p_parcel.owed, p_parcel.alone,
        p_parcel.made_at, p_parcel.sent_at, v_own.occurrences, v_own.schedule_ids, v_own.kinds, v_own.ns);
      return query
        insert into carillon.quarantine (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
        values ('claim', v_id::text, v_own.id, v_own.reason, coalesce(v_first_at, p_now), p_now, v_tries,
          p_now + interval '1 minute' * power(2, least(v_tries - 1, 6)))
        returning item, schedule_id, reason, tries, next_at;
    end if;
    update carillon.jobs j set parcel_id = v_id, ready_at = p_now
    from unnest(v_own.occurrences, v_own.kinds, v_own.ns) k (occurrence, kind, n)
    where j.occurrence = k.occurrence and j.schedule_id = v_own.id and j.kind = k.kind and j.n = k.n and j.state = 'waiting' and j.parcel_id = p_parcel.id;
  end loop;
end $$;
