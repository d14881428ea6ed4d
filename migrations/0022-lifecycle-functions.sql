-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Takes up to p_limit events from the outbox, oldest first, with all facts that the event bus gets about
-- them. With p_fresh these are events that no process has tried to send; otherwise events whose time for the
-- next try (offer_at) has come.
-- No other process takes such an event until its next try, which is 1, 2, 4 and then 8 minutes later. The
-- caller deletes the events that the bus has accepted; an event that it does not delete is taken again.
-- Locks: the rows of the outbox, with skip locked.
-- Returns: one row per event, in the order of ids. The columns of its job or schedule are null if that is
-- gone.
-- Called by: claimEvents in lib/lifecycle/outbox.ts.
create or replace function carillon.claim_events(p_limit int, p_fresh boolean)
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

-- Builds the detail of a `skipped` event for one occurrence, in the form that passedEvents in
-- lib/plan/passed-events.ts has for ranges.
-- Locks: none.
-- Returns: the detail as JSON.
-- Called by: carillon.pass_lanes, where it skips a job as late or because of an overlap.
create or replace function carillon.passed_alone(p_occurrence timestamptz, p_reason text) returns jsonb
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select jsonb_build_object('reason', p_reason, 'from', p_occurrence, 'to', p_occurrence, 'count', 1, 'more', false)
  $$;

-- Says whether lifecycle events of this name are on.
-- Locks: none.
-- Returns: true if the setting in carillon.lifecycle has the event.
-- Called by: carillon.pass_lanes, before it writes `skipped` events; passedEvents in lib/plan/passed-events.ts.
create or replace function carillon.tells(p_event text) returns boolean
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select p_event = any(l.events) from carillon.lifecycle l $$;
