-- Keeps the rows of pulses in line with the versions of their schedules: makes, changes or deletes a row.
-- Every change of a schedule writes a version, so no way of changing one can forget its row, including code
-- of an older release: a version that it writes asks for no pulse, and its schedule has jobs. For a schedule
-- that is no pulse this costs one look into the index per version.
-- If the cadence goes on unchanged, late beats still go. If the cadence is another one, or the schedule was
-- held, the first beat is after the change, and nothing of the old cadence starts any more. A held pulse has
-- no first beat, or has it at the end of the hold.
-- A target that is marked as unused loses its mark. One without a mark is read without a lock: this transaction
-- ends long before a mark that is set meanwhile counts. If the target is being deleted, this waits for the
-- delete and makes it again, with another number (carillon.reclaim_pulse_targets).
-- Locks: the rows of pulses; targets of pulses that are new or marked, in one order. The edit that writes the
-- versions holds the locks of the schedules.
-- Returns: nothing.
-- Called by: the trigger schedule_versions_pulse, after insert on carillon.schedule_versions, for each
-- statement.
create or replace function carillon.follow_pulses() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  -- One by one (`offset 0`): as a set, the planner would read all pulses to look for one.
  if not exists (select from written w where w.pulse_lag_s is not null) and not exists (
    select from written w cross join lateral (select from carillon.pulses p where p.schedule_id = w.schedule_id offset 0) p) then
    return null;
  end if;

  delete from carillon.pulses p using written w
  where p.schedule_id = w.schedule_id and (w.change = 'deleted' or (w.spec_version = w.version and w.pulse_lag_s is null));

  -- In one order: of two transactions that make the same targets, one waits for the other at the first.
  insert into carillon.pulse_targets as k (target, batch)
  select t.target, (t.target ->> 'batch')::int
  from (select distinct on (md5(w.target::text)) w.target from written w where w.pulse_lag_s is not null) t
  where not exists (select from carillon.pulse_targets u where md5(u.target::text) = md5(t.target::text) and u.unused_at is null)
  order by md5(t.target::text)
  on conflict (md5(target::text)) do update set unused_at = null where k.unused_at is not null;

  insert into carillon.pulses as p (schedule_id, starts_s, ends_s, every_s, offset_s, lag_s, target_id, shard, team_id, rest, may_have_jobs)
  select f.id,
    case
      when f.held and f.held_until is null then null
      when f.held then greatest(f.first_s, f.cut_s + 1, ceil(date_part('epoch', f.held_until))::bigint)
      when o.starts_s <= f.cut_s and coalesce(o.ends_s > f.cut_s, true)
        and (o.every_s, o.offset_s, o.lag_s) = (f.every_s, f.first_at_s % f.every_s, f.lag_s) then greatest(o.starts_s, f.first_s)
      else greatest(f.first_s, f.cut_s + 1)
    end,
    f.ends_s, f.every_s, f.first_at_s % f.every_s, f.lag_s, k.id, f.shard, f.team_id,
    -- JSON leaves two characters as they are that SQS refuses in a message.
    replace(replace('"specversion":"1.0","type":"carillon.job.due","source":"carillon","subject":' || f.key
      || ',"datacontenttype":"application/json","data":' || f.data || ',"schedulekey":' || f.key
      || ',"scheduleid":"' || f.id || '","attempt":1}', chr(65534), '\ufffe'), chr(65535), '\uffff'),
    f.version > 1
  from (
    select w.schedule_id as id, w.version, s.shard, coalesce(s.team_id, 0) as team_id, w.held, w.held_until, v.target, v.pulse_lag_s as lag_s, (v.every_ms / 1000)::int as every_s,
      floor(date_part('epoch', w.changed_at))::bigint as cut_s,
      ceil(date_part('epoch', v.first_at))::bigint + v.pulse_lag_s as first_at_s,
      ceil(date_part('epoch', greatest(v.first_at, v.starts_at)))::bigint + v.pulse_lag_s as first_s,
      ceil(date_part('epoch', v.ends_at))::bigint + v.pulse_lag_s as ends_s,
      to_json(s.key)::text as key, coalesce(v.payload, 'null')::text as data
    from written w
    -- By its id alone (`offset 0`): without statistics, the planner would read the index of all live keys.
    cross join lateral (select key, shard, team_id, version, deleted_at from carillon.schedules where id = w.schedule_id offset 0) s
    cross join lateral (
      select w.target, w.payload, w.pulse_lag_s, w.every_ms, w.first_at, w.starts_at, w.ends_at where w.spec_version = w.version
      union all
      select target, payload, pulse_lag_s, every_ms, first_at, starts_at, ends_at from carillon.schedule_versions
      where schedule_id = w.schedule_id and version = w.spec_version and w.spec_version < w.version
    ) v
    where w.version = s.version and s.deleted_at is null and v.pulse_lag_s is not null
  ) f
  join carillon.pulse_targets k on md5(k.target::text) = md5(f.target::text)
  left join carillon.pulses o on o.schedule_id = f.id
  on conflict (schedule_id) do update
  set starts_s = excluded.starts_s, ends_s = excluded.ends_s, every_s = excluded.every_s, offset_s = excluded.offset_s,
    lag_s = excluded.lag_s, target_id = excluded.target_id, rest = excluded.rest,
    -- Another team while the cadence goes on could take a late pulse out of a part that is not sent yet.
    team_id = case when (p.every_s, p.offset_s, p.lag_s) = (excluded.every_s, excluded.offset_s, excluded.lag_s) then p.team_id else excluded.team_id end;
  return null;
end $$;
