-- What the bus is told: of jobs, and of occurrences that have no job. And the holds that Carillon sets itself.

-- Which events are on, for whatever passes occurrences over: the tick keeps this row to its setting.
create table carillon.lifecycle (
  id boolean primary key default true,
  events text[] not null,
  constraint lifecycle_has_one_row check (id)
);

insert into carillon.lifecycle (events) values (array['dead', 'missed']);

create function carillon.tells(p_event text) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select p_event = any(l.events) from carillon.lifecycle l $$;

-- How often somebody has tried to tell the bus. 0: whoever looks next may, without waiting for its time.
alter table carillon.outbox add column tries smallint not null default 0;

-- Read by workers after a settle: what nobody has tried to tell yet.
create index outbox_fresh on carillon.outbox (id) where tries = 0;

-- Takes events to be told, the oldest first, with what is to be told of them: those that nobody has tried yet (`p_fresh`), or those whose
-- time has come. While they are taken they come to nobody else; where they are still there after that, they come again, each time later.
create function carillon.claim_events(p_limit int, p_fresh boolean)
  returns table (id bigint, event text, at timestamptz, occurrence timestamptz, schedule_id bigint, kind carillon.job_kind, n int, attempt smallint,
    detail jsonb, key text, group_key text, version int, due_at timestamptz, reason text, error text, error_class text)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_ids bigint[];
begin
  if p_fresh then
    select array_agg(f.id) into v_ids
    from (select o.id from carillon.outbox o where o.tries = 0 order by o.id limit p_limit for update skip locked) f;
  else
    select array_agg(d.id) into v_ids
    from (select o.id from carillon.outbox o where o.offer_at <= v_now order by o.offer_at, o.id limit p_limit for update skip locked) d;
  end if;
  if v_ids is null then return; end if;
  return query
    with claimed as (
      update carillon.outbox o set tries = least(o.tries + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(o.tries, 3))
      where o.id = any(v_ids) returning o.*
    )
    select c.id, c.event, c.at, c.occurrence, c.schedule_id, c.kind, c.n, c.attempt, c.detail, s.key, s.group_key, coalesce(j.version, s.version),
      j.due_at, coalesce(c.detail ->> 'reason', j.reason), coalesce(a.error, case when j.attempt = c.attempt then j.error end), a.error_class
    from claimed c
    left join carillon.schedules s on s.id = c.schedule_id
    left join carillon.jobs j on j.occurrence = c.occurrence and j.schedule_id = c.schedule_id and j.kind = c.kind and j.n = c.n
    left join carillon.attempts a on a.occurrence = c.occurrence and a.schedule_id = c.schedule_id and a.kind = c.kind and a.n = c.n
      and a.attempt = c.attempt
    order by c.id;
end $$;

-- What the bus is told of a single occurrence that was passed over.
create function carillon.passed_alone(p_occurrence timestamptz, p_reason text) returns jsonb
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select jsonb_build_object('reason', p_reason, 'from', p_occurrence, 'to', p_occurrence, 'count', 1, 'more', false)
  $$;

-- Whatever was wanted of a schedule because of failures is over: somebody has edited or resumed it.
create function carillon.forget_failures(p_schedule bigint) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    delete from carillon.failure_runs where schedule_id = p_schedule;
    delete from carillon.wanted_holds where schedule_id = p_schedule;
  $$;

revoke execute on function carillon.tells(text), carillon.claim_events(int, boolean),
  carillon.passed_alone(timestamptz, text), carillon.forget_failures(bigint) from public;
grant select on carillon.lifecycle to carillon_tick, carillon_worker, carillon_api, carillon_handler;
grant update on carillon.lifecycle to carillon_tick;
grant execute on function carillon.tells(text) to carillon_tick, carillon_worker, carillon_api, carillon_handler;
grant execute on function carillon.claim_events(int, boolean) to carillon_tick, carillon_worker, carillon_handler;
grant execute on function carillon.forget_failures(bigint) to carillon_tick, carillon_api, carillon_handler;
-- Carillon's own holds are set by the tick, and at once by whoever runs handlers.
grant select, delete on carillon.wanted_holds to carillon_handler;
