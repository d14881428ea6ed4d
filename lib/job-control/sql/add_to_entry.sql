-- Adds jobs to the count of an audit entry of a call that acts on many jobs. The caller's role may not change the
-- audit otherwise. Only a recent entry of such a call is changed.
-- Locks: the row of the entry, which no other call writes.
-- Returns: nothing.
-- Called by: noteJobs in lib/edit/note-jobs.ts.
create or replace function carillon.add_to_entry(p_at timestamptz, p_id bigint, p_jobs int) returns void
  language sql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    update carillon.audit a set detail = jsonb_set(a.detail, '{jobs}', to_jsonb((a.detail ->> 'jobs')::bigint + p_jobs))
    where a.at = p_at and a.id = p_id and a.action in ('jobs.cancelled', 'jobs.retried') and a.schedule_id is null
      and a.at > carillon.clock() - interval '10 minutes'
  $$;
