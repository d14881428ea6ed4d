-- Autovacuum by what each table lives through: its own defaults wait for a fifth of a table to be dead, which of thirty million rows is hours
-- of edits. What had settings keeps them; docs/retention.md has them all, each with its reason.
-- carillon: back to 31

-- Edited in place, mostly without an index, and purged in masses: two hundredths of thirty million rows are what a minute of vacuum does.
alter table carillon.schedules set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- Only inserted until it is purged: vacuum early and in small portions marks pages as seen by all, and freezes them, before they are cold.
alter table carillon.schedule_versions set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- Loses a day of rows at each midnight, and takes in as many in a day: the room of those that left is wanted at once.
alter table carillon.plan_far set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);

-- Edited in place, as schedules are.
alter table carillon.pulses set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);

-- Few rows that each turn rewrites: as the parcels.
alter table carillon.backlog set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Comes and goes within a day, evenly: a fifth of a day's requests would be millions.
alter table carillon.idempotency set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
alter table carillon.idempotency_steps set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);

-- One row for each key that commands name, rewritten by each command.
alter table carillon.command_marks set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);

-- Written at one end and, a year later, deleted at the other: its dead are always at the front, where the purge looks.
alter table carillon.audit set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Written evenly and purged in masses.
alter table carillon.passed_over set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);

-- As in 0018, with what autovacuum has to do with days.
create or replace function carillon.attach_days(p_from date, p_to date) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set lock_timeout = '2s'
  as $$
declare
  v_day date;
  v_parent text;
  v_name text;
  v_made int := 0;
begin
  -- Two ticks that attach the same day take turns; the second finds it there. (Class 3: see lib/db/locks.ts.)
  perform pg_advisory_xact_lock(3, 0);
  for v_day in select generate_series(p_from, p_to, interval '1 day')::date loop
    foreach v_parent in array array['plan', 'jobs', 'attempts', 'jobs_beside', 'dead_jobs'] loop
      v_name := v_parent || '_' || to_char(v_day, 'YYYYMMDD');
      continue when to_regclass('carillon.' || v_name) is not null;
      -- Made apart and attached: that takes a weaker lock on the parent than `create table … partition of`.
      execute format('create table carillon.%I (like carillon.%I including defaults including constraints) with (%s)', v_name, v_parent,
        carillon.day_settings(v_parent));
      execute format('alter table carillon.%I attach partition carillon.%I for values from (%L) to (%L)', v_parent, v_name,
        v_day::text || ' 00:00:00+00', (v_day + 1)::text || ' 00:00:00+00');
      v_made := v_made + 1;
    end loop;
  end loop;
  return v_made;
end $$;

create function carillon.day_settings(p_parent text) returns text
  language sql immutable
  as $$
    select case p_parent
      -- Settling updates a job once, in place: the room left free keeps that update out of the index. What it leaves is taken away by whoever
      -- comes to the page next; vacuum comes when half is dead or new, and freezes what it finds, since a day lives for weeks.
      when 'jobs' then 'fillfactor = 50, autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_vacuum_scale_factor = 0.5, autovacuum_freeze_min_age = 0'
      -- Inserted, read once, and dropped within days: nothing in it is ever dead or worth freezing.
      when 'plan' then 'fillfactor = 100, autovacuum_vacuum_insert_threshold = -1'
      else 'fillfactor = 100' end
  $$;
revoke execute on function carillon.day_settings(text) from public;

-- The days that are there already.
do $$
declare
  v_name text;
begin
  for v_name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'carillon.jobs'::regclass loop
    execute format('alter table carillon.%I set (autovacuum_freeze_min_age = 0)', v_name);
  end loop;
  for v_name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'carillon.plan'::regclass loop
    execute format('alter table carillon.%I set (autovacuum_vacuum_insert_threshold = -1)', v_name);
  end loop;
end $$;
