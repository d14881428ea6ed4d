-- Pulses: schedules that leave no row and no write where they fire. Beside each stands one row with all that a beat needs: it is due at
-- second t where t % every_s = offset_s and starts_s <= t < ends_s, and its occurrence, as jobs have one, is t - lag_s.
-- carillon: back to 31

-- Each distinct target once, so that a beat groups by a small number. None goes again: its number may be in somebody's hand.
create table carillon.pulse_targets (
  id int generated always as identity primary key,
  -- So many pulses may travel in one message of it; null where each travels alone.
  batch int,
  target jsonb not null
);

-- By digest, since a target may be longer than an index takes.
create unique index pulse_targets_target on carillon.pulse_targets (md5(target::text));

create table carillon.pulses (
  schedule_id bigint primary key,
  -- The first second at which it beats; null while it is held and nobody has said until when.
  starts_s bigint,
  -- Null where it never ends.
  ends_s bigint,
  every_s int not null,
  offset_s int not null,
  lag_s int not null,
  target_id int not null,
  shard smallint not null,
  -- The members of its envelope that are always the same, and the bracket that closes it: a beat puts id and times before them.
  rest text not null,
  -- Whether it may have jobs: it was another schedule before it was a pulse, or somebody has fired it. Of one that has none no claim has anything
  -- in its hands, so an edit of it need not wait until no claim is under way.
  may_have_jobs boolean not null,
  constraint pulses_interval check (every_s between 1 and 86400),
  constraint pulses_offset check (offset_s >= 0 and offset_s < every_s),
  constraint pulses_lag check (lag_s between 0 and 86400),
  -- A beat reads thousands of them at once.
  constraint pulses_rest_is_small check (octet_length(rest) <= 24576)
  -- Room for another payload or a pause in place: neither touches an index.
) with (fillfactor = 80);

-- Read by beats: who is due at a second of a shard, by its distinct intervals; and by the tick: whether anybody is.
create index pulses_due on carillon.pulses (shard, every_s, offset_s, schedule_id);

-- What no beat was made for, or no target took: of all pulses of a shard between two seconds, or of those of one target.
create table carillon.pulses_passed (
  from_at timestamptz(3) not null,
  to_at timestamptz(3) not null,
  noted_at timestamptz(3) not null,
  count bigint,
  target_id int,
  shard smallint not null,
  reason text not null,
  constraint pulses_passed_is_a_range check (from_at <= to_at)
);

-- Read by whoever explains a pulse.
create index pulses_passed_shard on carillon.pulses_passed (shard, to_at);
-- By the tick, which lets go of old ones, and by whoever asks what was lost lately: a target that is gone leaves a row for each second of a shard.
create index pulses_passed_noted on carillon.pulses_passed (noted_at);

alter table carillon.schedule_versions
  -- Of a version that asks for pulses: by how many whole seconds its key moves each. Null for all others.
  add column pulse_lag_s int;

alter table carillon.shards
  -- Up to this second its parcels of pulses exist.
  add column pulsed_to timestamptz(3) not null default date_trunc('second', carillon.clock());

-- safe: a parcel is gone when its jobs are settled, so that the table is read in milliseconds
alter table carillon.parcels
  -- Of a parcel that stands for the pulses of its shard at one second. It lists no jobs.
  add column pulse_at timestamptz(3),
  -- For these of their targets alone; null for all.
  add column pulse_targets int[],
  add constraint parcels_pulses_list_no_jobs check (pulse_at is null or (cardinality(occurrences) = 0 and queue = 'fast')),
  add constraint parcels_targets_of_pulses check (pulse_targets is null or pulse_at is not null);

-- One for each second, whoever makes it: ticks, and edits of pulses that are due before the next tick looks.
-- safe: the same
create unique index parcels_pulse on carillon.parcels (shard, pulse_at) where pulse_at is not null and pulse_targets is null;

-- Whatever changes a schedule writes a version, so that no way of changing one can forget its row here, those of an older release neither: what
-- such a one writes asks for no pulse, and has jobs. Of schedules that are none, it is a look into this index for each that is edited. Late beats
-- of a cadence that goes on still go; another one, or one that was held, begins after the change, with which nothing of the old one starts any more.
create function carillon.follow_pulses() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  -- One by one (`offset 0`): as a set the planner would read all pulses there are to look for one.
  if not exists (select from written w where w.pulse_lag_s is not null) and not exists (
    select from written w cross join lateral (select from carillon.pulses p where p.schedule_id = w.schedule_id offset 0) p) then
    return null;
  end if;

  delete from carillon.pulses p using written w
  where p.schedule_id = w.schedule_id and (w.change = 'deleted' or (w.spec_version = w.version and w.pulse_lag_s is null));

  -- In one order, whoever makes them: two that make the same wait for each other at the first.
  insert into carillon.pulse_targets (target, batch)
  select t.target, (t.target ->> 'batch')::int
  from (select distinct w.target from written w where w.pulse_lag_s is not null) t
  where not exists (select from carillon.pulse_targets k where md5(k.target::text) = md5(t.target::text))
  order by md5(t.target::text)
  on conflict do nothing;

  insert into carillon.pulses as p (schedule_id, starts_s, ends_s, every_s, offset_s, lag_s, target_id, shard, rest, may_have_jobs)
  select f.id,
    case
      when f.held and f.held_until is null then null
      when f.held then greatest(f.first_s, f.cut_s + 1, ceil(date_part('epoch', f.held_until))::bigint)
      when o.starts_s <= f.cut_s and coalesce(o.ends_s > f.cut_s, true)
        and (o.every_s, o.offset_s, o.lag_s) = (f.every_s, f.first_at_s % f.every_s, f.lag_s) then greatest(o.starts_s, f.first_s)
      else greatest(f.first_s, f.cut_s + 1)
    end,
    f.ends_s, f.every_s, f.first_at_s % f.every_s, f.lag_s, k.id, f.shard,
    -- JSON leaves two characters as they are that SQS takes no message with.
    replace(replace('"specversion":"1.0","type":"carillon.job.due","source":"carillon","subject":' || f.key
      || ',"datacontenttype":"application/json","data":' || f.data || ',"schedulekey":' || f.key
      || ',"scheduleid":"' || f.id || '","attempt":1}', chr(65534), '\ufffe'), chr(65535), '\uffff'),
    f.version > 1
  from (
    select w.schedule_id as id, w.version, s.shard, w.held, w.held_until, v.target, v.pulse_lag_s as lag_s, (v.every_ms / 1000)::int as every_s,
      floor(date_part('epoch', w.changed_at))::bigint as cut_s,
      ceil(date_part('epoch', v.first_at))::bigint + v.pulse_lag_s as first_at_s,
      ceil(date_part('epoch', greatest(v.first_at, v.starts_at)))::bigint + v.pulse_lag_s as first_s,
      ceil(date_part('epoch', v.ends_at))::bigint + v.pulse_lag_s as ends_s,
      to_json(s.key)::text as key, coalesce(v.payload, 'null')::text as data
    from written w
    -- By its id alone (`offset 0`): without statistics the index of all keys that live would seem worth reading.
    cross join lateral (select key, shard, version, deleted_at from carillon.schedules where id = w.schedule_id offset 0) s
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
    lag_s = excluded.lag_s, target_id = excluded.target_id, rest = excluded.rest;
  return null;
end $$;

-- safe: what the previous release writes asks for no pulse, and has no row there: it looks for one and does nothing
create trigger schedule_versions_pulse after insert on carillon.schedule_versions referencing new table as written
  for each statement execute function carillon.follow_pulses();

create function carillon.forget_pulses() returns trigger
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  delete from carillon.pulses p using gone g where p.schedule_id = g.id;
  return null;
end $$;

-- safe: the previous release deletes none of them
create trigger schedules_pulse_gone after delete on carillon.schedules referencing old table as gone
  for each statement execute function carillon.forget_pulses();

-- For whoever makes a job of a schedule by hand, under its row's lock.
create function carillon.note_jobs_of_pulse(p_schedule bigint) returns void
  language sql security definer
  set search_path = pg_catalog, pg_temp
  begin atomic
  update carillon.pulses set may_have_jobs = true where schedule_id = p_schedule and not may_have_jobs;
end;

revoke execute on function carillon.follow_pulses(), carillon.forget_pulses(), carillon.note_jobs_of_pulse(bigint) from public;
grant select on carillon.pulses, carillon.pulse_targets, carillon.pulses_passed
  to carillon_tick, carillon_worker, carillon_handler, carillon_ingest, carillon_api;
grant insert on carillon.pulses_passed to carillon_tick, carillon_worker;
grant execute on function carillon.note_jobs_of_pulse(bigint) to carillon_api;
