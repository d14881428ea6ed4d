-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Adds the counts to the audit entry of a bulk action: `soFar` with each batch, and once those of the whole, which
-- replace it. An entry of the audit is otherwise never changed: the action writes it before the first change, so that no
-- version names an entry that is missing.
-- Locks: the row of the entry.
-- Returns: nothing.
-- Called by: noteProgress and endBulk in lib/batch/bulk-entry.ts.
create or replace function carillon.end_bulk(p_at timestamptz, p_id bigint, p_counts jsonb) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    update carillon.audit set detail = (detail - 'soFar') || p_counts
    where at = p_at and id = p_id and not detail ? 'done'
      and action in ('schedules.paused', 'schedules.resumed', 'schedules.deleted', 'schedules.patched');
  $$;

-- Forgets the failures of these schedules after an edit that was made on purpose: their count of dead jobs in
-- a row starts at zero, and holds that a settle has asked for are no longer set.
-- Locks: the deleted rows. The edit has locked the schedules.
-- Returns: nothing.
-- Called by: forgetFailures in lib/edit/apply-edit.ts, for one edit and for edits of a batch.
create or replace function carillon.forget_failures(p_schedules bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    delete from carillon.failure_runs where schedule_id = any(p_schedules);
    delete from carillon.wanted_holds where schedule_id = any(p_schedules);
  $$;

-- Keeps a cadence from being deleted until this transaction ends. A version that names it keeps it from then
-- on.
-- Locks: the row of the cadence, for key share. Waits for carillon.reclaim_cadences if that has it.
-- Returns: the id; null if the cadence is gone.
-- Called by: cadenceIds in lib/schedule/stored/cadence-columns.ts, which makes the cadence again if it is gone.
create or replace function carillon.keep_cadence(p_id int) returns int
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$ select c.id from carillon.cadences c where c.id = p_id for key share $$;

-- Keeps schedule_tags equal to the tags of live schedules: after an edit of the tags, a delete or a restore.
-- Locks: the rows that it deletes or inserts.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger schedules_retagged, after update of tags or deleted_at on carillon.schedules, for each
-- row whose tags have changed, or that has tags and was deleted or restored.
create or replace function carillon.note_other_tags() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  if old.deleted_at is null then
    delete from carillon.schedule_tags t where t.key = old.key and t.tag = any(old.tags collate "C")
      and (new.deleted_at is not null or t.tag <> all(new.tags collate "C"));
  end if;
  if new.deleted_at is null then
    insert into carillon.schedule_tags (tag, key) select t.tag, new.key from unnest(new.tags) t (tag) on conflict do nothing;
  end if;
  return null;
end $$;

-- Writes the tags of new schedules into schedule_tags, once per statement. It is a trigger because schedules
-- are made in many places.
-- Locks: none but those of the inserted rows.
-- Returns: null; the result of the trigger is not used.
-- Called by: trigger schedules_tagged, after insert on carillon.schedules, for each statement.
create or replace function carillon.note_tags() returns trigger
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.schedule_tags (tag, key)
  select t.tag, m.key from made m cross join lateral unnest(m.tags) t (tag) where m.deleted_at is null
  on conflict do nothing;
  return null;
end $$;

-- Looks at the next p_max cadences by id, and deletes those that no version names. At the end of a round it
-- sets the next look to an hour later.
-- A cadence that an edit is about to name is locked by carillon.keep_cadence, and is passed over. If the
-- cadence is locked here first, the edit waits until it is gone and makes it again. The second test is a
-- statement of its own: it sees versions that were committed before the lock.
-- Plan rows that outlive their schedule may still name the cadence. A reader then finds none, and passes over
-- the row.
-- Locks: the row of carillon.cadence_round; none if another tick has it. Then the unused cadences for update,
-- by id; locked ones are passed over.
-- Returns: one row: how many cadences were looked at and deleted. No row if another tick has the round.
-- Called by: reclaimCadences in lib/tick/housekeeping/reclaim-cadences.ts.
create or replace function carillon.reclaim_cadences(p_max int) returns table (looked int, gone int)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  -- Also for the check of the foreign key: the planner may expect many versions of a cadence, and read all
  -- versions instead.
  set enable_seqscan = off
  as $$
declare
  v_place int;
  v_looked int[];
  v_unused int[];
begin
  select r.place into v_place from carillon.cadence_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select c.id from carillon.cadences c where c.id > v_place order by c.id limit p_max);
  v_unused := array(
    select u.id from unnest(v_looked) u (id)
    where not exists (select from carillon.schedule_versions v where v.cadence_id = u.id offset 0));
  v_unused := array(select c.id from carillon.cadences c where c.id = any(v_unused) order by c.id for update skip locked);
  delete from carillon.cadences c
  where c.id = any(v_unused) and not exists (select from carillon.schedule_versions v where v.cadence_id = c.id offset 0);
  get diagnostics gone = row_count;
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.cadence_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = carillon.clock() + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;
