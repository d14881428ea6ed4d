-- One step of the purge: looks at the next p_looked schedules by id, and deletes those that are over. A
-- schedule is over if it was deleted, or was due and edited for the last time, longer ago than the retention
-- and a day.
-- A schedule stays while a day exists on which it may have had a job, and while it has jobs beside its
-- cadence, backlog, or a parcel that waits for a hold. Unless it was deleted, it also stays while it is held,
-- or while its plan is in quarantine: its last run is owed until it can be planned, or a caller deletes the
-- schedule.
-- The step also deletes ranges passed over that are older than the retention, and notes schedules that have
-- fired max_fires times. The first step of a round deletes old rows of pulses_passed. A round begins an hour
-- after the last one began, at the earliest.
-- Locks: the row of carillon.purges; none if another tick has it. Then the schedules to be deleted; locked
-- ones are passed over.
-- Returns: one row: how many schedules were looked at and deleted, and the `doubtful`. These, up to 200, have
-- a cadence that names years and may have no next occurrence: the caller reads it and calls
-- carillon.note_over. No row if a round is over and the next has not begun, if another tick purges, or if a
-- shard lags by more than an hour.
-- Called by: stepOnce in lib/retention/purge.ts; carillon.pass_purge, with p_looked = 0.
create or replace function carillon.purge_schedules(p_retention interval, p_looked int)
  returns table (looked int, gone int, doubtful bigint[])
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_purge carillon.purges;
  v_now timestamptz := carillon.clock();
  v_days date := ((v_now - p_retention) at time zone 'UTC')::date;
  v_before timestamptz := (v_days - 1)::timestamp at time zone 'UTC';
  v_old tstzrange[];
  v_last bigint;
  v_gone bigint[];
begin
  select p.* into v_purge from carillon.purges p for update skip locked;
  if not found or (v_purge.place = 0 and v_purge.round_at > v_now - interval '1 hour') then
    return;
  end if;
  -- Occurrences that the ticks lag behind with have not happened yet.
  if (select min(h.watermark_at) from carillon.shards h) < v_now - interval '1 hour' then
    return;
  end if;
  if v_purge.place = 0 then
    update carillon.purges set round_at = v_now;
    delete from carillon.pulses_passed u where u.noted_at < v_before;
  end if;
  select coalesce(array_agg(tstzrange(d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC')), '{}') into v_old
  from (select to_date(right(c.relname, 8), 'YYYYMMDD') as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'carillon.jobs'::regclass and right(c.relname, 8) < to_char(v_days, 'YYYYMMDD')) d;
  select max(w.id), count(*)::int into v_last, looked
  from (select s.id from carillon.schedules s where s.id > v_purge.place order by s.id limit p_looked) w;
  if looked = 0 then
    update carillon.purges set place = 0;
    return;
  end if;
  v_gone := array(
    select s.id from carillon.schedules s
    left join carillon.schedule_versions v on s.deleted_at is null and v.schedule_id = s.id and v.version = s.spec_version
    left join carillon.over_schedules e on s.deleted_at is null and e.schedule_id = s.id and e.version = s.version and coalesce(s.fires >= s.max_fires, true)
    cross join lateral (select coalesce(v.once_at, v.ends_at, e.since) as ended_at) w
    cross join lateral (select coalesce(s.deleted_at, greatest(s.updated_at, w.ended_at)) as over_at) o
    where s.id > v_purge.place and s.id <= v_last and s.updated_at < v_before and o.over_at < v_before
      and (s.deleted_at is not null or (s.held_since is null and w.ended_at is not null
        and not exists (select from carillon.quarantine q where q.consumer = 'plan' and q.item = s.id::text)))
      and not exists (select from unnest(v_old) d where d && tstzrange(s.created_at, o.over_at, '[]'))
      and not exists (select from carillon.jobs_beside b where b.schedule_id = s.id)
      and not exists (select from carillon.backlog b where b.schedule_id = s.id)
      and not exists (select from carillon.parcels p where p.held_schedule = s.id)
    for update of s skip locked);
  gone := carillon.purge_listed(v_gone);
  -- Also of schedules that stay: these ranges are older than the retention.
  perform set_config('carillon.purging', 'on', true);
  delete from carillon.passed_over o where o.schedule_id > v_purge.place and o.schedule_id <= v_last and o.to_at < v_before and o.noted_at < v_before;
  perform set_config('carillon.purging', '', true);
  perform carillon.note_over(array(
    select s.id from carillon.schedules s
    where s.id > v_purge.place and s.id <= v_last and coalesce(s.deleted_at, 'infinity') = 'infinity' and s.fires >= s.max_fires));
  doubtful := array(
    select s.id from carillon.schedules s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    join carillon.cadences c on c.id = v.cadence_id
    where s.id > v_purge.place and s.id <= v_last and s.updated_at < v_now - interval '1 day' and coalesce(s.deleted_at, 'infinity') = 'infinity' and v.ends_at is null
      and c.expression ~ '\m[12][0-9]{3}\M' and c.expression !~ '\mevery '
      and not exists (select from carillon.over_schedules e where e.schedule_id = s.id and e.version = s.version)
    order by s.id limit 200);
  if cardinality(doubtful) = 200 then
    v_last := doubtful[200];
  end if;
  update carillon.purges set place = v_last;
  return next;
end $$;
