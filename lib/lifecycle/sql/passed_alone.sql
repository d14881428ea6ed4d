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
