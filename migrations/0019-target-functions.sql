-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- Says whether a target was marked as unused long enough ago for it to be deleted: a day. By then each
-- transaction that may have read the target before the mark has ended. The longest transactions of Carillon
-- take as long as a worker's invocation, eleven minutes, and Postgres ends a transaction that idles for ten
-- seconds.
-- Locks: none.
-- Returns: true if it was; false without a mark.
-- Called by: carillon.targets_to_reclaim; carillon.reclaim_targets, where it deletes.
create or replace function carillon.is_long_unused(p_target carillon.targets, p_now timestamptz) returns boolean
  language sql stable
  as $$ select coalesce(p_target.unused_at < p_now - interval '1 day', false) $$;

-- Says whether a target is unused: no schedule, not even a deleted one, and no parcel goes there, and no
-- limits were ever set for it. Each change of its limits raises `revision`, and a number that a caller has
-- seen must not be given again. Handlers never are unused: they are the deployment's own, few, and have
-- settings of their own.
-- Each look uses an index. A parcel that is in none of these indexes is under a lease, and was claimed while
-- a schedule went there.
-- Locks: none.
-- Returns: true if it is unused.
-- Called by: carillon.targets_to_reclaim; carillon.reclaim_targets, once it has the targets' rows.
create or replace function carillon.is_unused(p_target carillon.targets) returns boolean
  language sql stable
  as $$
    select p_target.concurrency is null and p_target.rate_count is null and p_target.set_at is null
      and p_target.revision = 1
      and not starts_with(p_target.name, 'handler/')
      and not exists (select from carillon.schedules s where s.target_id = p_target.id and s.target_id is not null and s.deleted_at is null offset 0)
      and not exists (select from carillon.schedules s where s.target_id = p_target.id and s.target_id is not null and s.deleted_at is not null offset 0)
      and not exists (select from carillon.parcels p where p.target_id = p_target.id and p.slots is not null offset 0)
      and not exists (select from carillon.parcels p where p.target_id = p_target.id and p.turn = 'waits' offset 0)
      and not exists (select from carillon.parcels p
        where p.target_id = p_target.id and p.queue = 'slow' and p.lease_until is null and p.turn is null offset 0)
  $$;

-- Goes through these targets: deletes those that have been marked as unused for long, marks those that are
-- unused, and takes the mark off those that are used. A target that an edit is about to name is locked, and
-- passed over. An edit that names a target locked here waits until it is deleted, and makes it again.
-- Locks: the rows of the targets, ascending, with skip locked. Whether they are unused is read by a later
-- statement, which sees what was committed before the locks.
-- Returns: the number of targets deleted.
-- Called by: reclaim in lib/tick/housekeeping/reclaim-targets.ts.
create or replace function carillon.reclaim_targets(p_ids int[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_locked int[];
  v_unused int[];
  v_gone int;
begin
  v_locked := array(select t.id from carillon.targets t where t.id = any(p_ids) order by t.id for update skip locked);
  v_unused := array(select t.id from carillon.targets t where t.id = any(v_locked) and carillon.is_unused(t));
  delete from carillon.targets t where t.id = any(v_unused) and carillon.is_long_unused(t, v_now);
  get diagnostics v_gone = row_count;
  update carillon.targets t set unused_at = case when t.id = any(v_unused) then v_now end
  where t.id = any(v_locked) and (t.unused_at is null) = (t.id = any(v_unused));
  return v_gone;
end $$;

-- Gives the id of the target of this name, and makes the target if there is none. A target that is marked as
-- unused loses its mark.
-- A target without a mark is read without a lock, because many schedules share few targets: a put that has
-- read it before it is marked ends long before the mark counts (carillon.is_long_unused). If the target is
-- being deleted, this waits for the delete and makes it again.
-- Locks: the row of a target that is new or marked; none otherwise.
-- Returns: the id.
-- Called by: carillon.define_limits; change in lib/limit/limits.ts; makeShared in lib/batch/make-shared.ts;
-- wantedRows in lib/schedule/stored/version-rows.ts; nameSome in lib/tick/housekeeping/name-targets.ts.
create or replace function carillon.target_named(p_name text) returns int
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_id int;
  v_unused_at timestamptz;
begin
  -- Tries again if the target was deleted, or made, between two of these statements.
  for v_try in 1 .. 10 loop
    select t.id, t.unused_at into v_id, v_unused_at from carillon.targets t where t.name = p_name;
    if v_id is null then
      insert into carillon.targets (name) values (p_name) on conflict do nothing returning id into v_id;
    elsif v_unused_at is not null then
      update carillon.targets t set unused_at = null where t.id = v_id returning t.id into v_id;
    end if;
    if v_id is not null then return v_id; end if;
  end loop;
  raise exception 'The target % was neither made nor found.', p_name;
end $$;

-- Looks at the next p_max targets in the order of ids and finds those that carillon.reclaim_targets has to
-- mark, unmark or delete. Moves the round on by these targets.
-- Locks: the row of carillon.target_round, with skip locked.
-- Returns: how many targets it has looked at, fewer than p_max at the end of a round, and the ids found. No
-- row if another tick has the round.
-- Called by: reclaimTargets in lib/tick/housekeeping/reclaim-targets.ts.
create or replace function carillon.targets_to_reclaim(p_max int) returns table (looked int, ids int[])
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_now timestamptz := carillon.clock();
  v_place int;
  v_looked int[];
begin
  select r.place into v_place from carillon.target_round r for update skip locked;
  if not found then return; end if;
  v_looked := array(select t.id from carillon.targets t where t.id > v_place order by t.id limit p_max);
  ids := array(
    select t.id from carillon.targets t
    where t.id = any(v_looked) and (carillon.is_long_unused(t, v_now) or (t.unused_at is null) = carillon.is_unused(t)) order by t.id);
  looked := cardinality(v_looked);
  -- The next round begins an hour after this one has ended.
  update carillon.target_round r set place = case when looked < p_max then 0 else v_looked[looked] end,
    look_at = v_now + case when looked < p_max then interval '1 hour' else interval '0' end;
  return next;
end $$;
