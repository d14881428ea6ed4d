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

-- Makes a prefix one whose schedules are counted. The schedules that have it already are assigned by ticks.
-- Locks: the row of carillon.team_list, if the prefix is new.
-- Returns: nothing.
-- Called by: makeTeam in lib/quota/team-list.ts, for the prefix of a token or a caller, and for prefixes with
-- limits or weights of their own; carillon.restrict_caller.
create or replace function carillon.keep_team(p_prefix text) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.teams (prefix, created_at) values (p_prefix, carillon.clock()) on conflict do nothing;
  if found then
    update carillon.team_list set mark = gen_random_uuid(),
      lengths = array(select distinct l from unnest(lengths || length(p_prefix)) l order by l);
  end if;
end $$;

-- Adds to what teams use, or takes from it. Written bytes count for the current day in UTC: the first change of a
-- row on a day forgets those of earlier days. A row that another transaction has locked is left alone: edits of
-- one team never wait for each other here.
-- Locks: one row of carillon.usage for each team and block, by a try.
-- Returns: nothing.
-- Called by: noteUsage in lib/quota/note-usage.ts, in the transaction that writes the schedules or the job;
-- carillon.assign_team; carillon.make_rechecks.
create or replace function carillon.note_usage(p_teams int[], p_blocks int[], p_schedules int[], p_per_year bigint[], p_payload_bytes bigint[],
    p_written_bytes bigint[]) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_new record;
  v_n int;
  v_today date := (carillon.clock() at time zone 'UTC')::date;
begin
  for v_new in
    select * from unnest(p_teams, p_blocks, p_schedules, p_per_year, p_payload_bytes, p_written_bytes)
      c (team_id, block, schedules, per_year, payload_bytes, written_bytes)
  loop
    select u.n into v_n from carillon.usage u
    where u.team_id = v_new.team_id and u.block = v_new.block
    order by u.n limit 1 for update skip locked;
    if found then
      update carillon.usage u set schedules = u.schedules + v_new.schedules, per_year = u.per_year + v_new.per_year,
        payload_bytes = u.payload_bytes + v_new.payload_bytes,
        written_bytes = case when u.written_on >= v_today then u.written_bytes else 0 end + v_new.written_bytes, written_on = greatest(u.written_on, v_today)
      where u.team_id = v_new.team_id and u.block = v_new.block and u.n = v_n;
    else
      -- Numbers in order would make two transactions that add a row wait for each other.
      insert into carillon.usage (team_id, block, n, schedules, per_year, payload_bytes, written_bytes, written_on)
      values (v_new.team_id, v_new.block, (random() * 2147483647)::int, v_new.schedules, v_new.per_year, v_new.payload_bytes,
        v_new.written_bytes, v_today);
    end if;
  end loop;
end $$;

-- Gives the fires of a year that quotas count, by the columns of a schedule: the number that firesPerYear in
-- lib/cadence/fires-per-year.ts gives for its cadence and its slot.
-- Locks: none.
-- Returns: the number; 0 for a single instant.
-- Called by: carillon.assign_team; carillon.recount_usage; storedUsage in lib/quota/stored-usage.ts.
create or replace function carillon.per_year_of(p_rule bigint, p_own bigint) returns bigint
  language sql stable
  as $$
    select case when p_own is not null then p_own when p_rule < 0 then 31556952000 / -p_rule
      else coalesce((select c.per_year from carillon.cadences c where c.id = p_rule), 0) end
  $$;

-- Gives schedules that are older than a team to it, and counts them. What was written before counts for the former
-- team. One call looks at the next keys of the
-- prefix, whether or not they need it. It stops before a schedule that another transaction has locked; the next
-- call begins there.
-- A schedule of a grouped handler keeps its lane until a tick follows the handler, which is marked for that.
-- Locks: schedules, by a try; then their rows of the backlog (carillon.move_backlog), and rows of carillon.usage as
-- carillon.note_usage does; the rows of grouped handlers in carillon.targets; the row of the team.
-- Returns: whether the next call has more to do at once.
-- Called by: assignTeams in lib/tick/housekeeping/count-teams.ts.
create or replace function carillon.assign_team(p_team int, p_most int) returns boolean
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_prefix text collate "C";
  v_reached text collate "C";
  v_shorter int[];
  v_looked int;
  v_locked text collate "C";
  v_last text collate "C";
  v_noted text;
  v_grouped int[];
begin
  select t.prefix, t.reached into strict v_prefix, v_reached from carillon.teams t where t.id = p_team;
  v_shorter := array(select t.id from carillon.teams t where starts_with(v_prefix, t.prefix) and t.id <> p_team);
  with looked as materialized (
    select s.id, s.key, s.team_id as former, s.team_id is null or s.team_id = any(v_shorter) as needs
    from carillon.schedules s
    where s.key > v_reached and s.key >= v_prefix and s.key < v_prefix || chr(1114111) and s.deleted_at is null
    order by s.key limit p_most
  ), free as materialized (
    select s.id, l.key, l.former from looked l join carillon.schedules s on s.id = l.id
    where l.needs order by l.key for no key update of s skip locked
  ), stop as (
    select min(l.key) as key from looked l where l.needs and l.id not in (select f.id from free f)
  ), moved as (
    update carillon.schedules s set team_id = p_team from free f, stop
    where s.id = f.id and (stop.key is null or f.key < stop.key)
    returning s.id, f.former, carillon.per_year_of(s.rule, s.per_year) as per_year, coalesce(s.payload_bytes, 0) as payload_bytes,
      case when s.lane like 'grouped/%' then s.target_id end as grouped_target
  ), sums as (
    select c.team_id, (m.id / 262144)::int as block, sum(c.sign)::int as schedules, sum(c.sign * m.per_year)::bigint as per_year,
      sum(c.sign * m.payload_bytes)::bigint as payload_bytes
    from moved m cross join lateral (values (p_team, 1), (m.former, -1)) c (team_id, sign)
    where c.team_id is not null group by 1, 2
  )
  select (select count(*) from looked), stop.key, (select max(l.key) from looked l where stop.key is null or l.key < stop.key), (
    select carillon.note_usage(array_agg(s.team_id), array_agg(s.block), array_agg(s.schedules), array_agg(s.per_year), array_agg(s.payload_bytes),
      array_agg(0::bigint))::text
    from sums s having count(*) > 0),
    (select array_agg(distinct m.grouped_target) from moved m where m.grouped_target is not null)
  into v_looked, v_locked, v_last, v_noted, v_grouped from stop;
  if v_grouped is not null then
    update carillon.targets t set regrouped_at = carillon.clock() where t.id = any(v_grouped);
  end if;
  update carillon.teams t set reached = coalesce(v_last, t.reached),
    assigned_at = case when v_looked < p_most and v_locked is null then carillon.clock() end
  where t.id = p_team;
  return v_looked = p_most and v_locked is null;
end $$;

-- Counts the schedules of one block of ids, and corrects the usage of their teams by it. Both are read in one
-- snapshot: an edit is in both or in neither. A change of the tables by hand leaves a difference.
-- Bytes that were written today cannot be counted again: their rows stay until the day is over.
-- Locks: rows of carillon.usage that count nothing, by a try; the row of carillon.team_list.
-- Returns: the number of teams whose usage was corrected.
-- Called by: recountUsage in lib/tick/housekeeping/count-teams.ts.
create or replace function carillon.recount_usage() returns int
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_block int;
  v_last bigint;
  v_corrected int;
begin
  select l.counted_block into strict v_block from carillon.team_list l;
  with counted as (
    select s.team_id, count(*)::int as schedules, sum(carillon.per_year_of(s.rule, s.per_year))::bigint as per_year,
      sum(coalesce(s.payload_bytes, 0))::bigint as payload_bytes
    from carillon.schedules s
    where s.id >= v_block * 262144::bigint and s.id < (v_block + 1) * 262144::bigint and s.deleted_at is null and s.team_id is not null
    group by 1
  ), noted as (
    select u.team_id, sum(u.schedules)::int as schedules, sum(u.per_year)::bigint as per_year, sum(u.payload_bytes)::bigint as payload_bytes
    from carillon.usage u where u.block = v_block group by 1
  ), corrected as (
    insert into carillon.usage (team_id, block, n, schedules, per_year, payload_bytes)
    select team_id, v_block, (random() * 2147483647)::int, d.schedules, d.per_year, d.payload_bytes
    from counted c full join noted n using (team_id) cross join lateral (
      select coalesce(c.schedules, 0) - coalesce(n.schedules, 0) as schedules, coalesce(c.per_year, 0) - coalesce(n.per_year, 0) as per_year,
        coalesce(c.payload_bytes, 0) - coalesce(n.payload_bytes, 0) as payload_bytes) d
    where (d.schedules, d.per_year, d.payload_bytes) <> (0, 0, 0)
    returning 1
  )
  select count(*)::int into v_corrected from corrected;
  delete from carillon.usage u using (
    select z.team_id, z.n from carillon.usage z
    where z.block = v_block and z.schedules = 0 and z.per_year = 0 and z.payload_bytes = 0
      and (z.written_bytes = 0 or z.written_on < (carillon.clock() at time zone 'UTC')::date) for update skip locked) none
  where u.block = v_block and u.team_id = none.team_id and u.n = none.n;
  select coalesce(max(s.id), 0) into v_last from carillon.schedules s;
  update carillon.team_list l set counted_at = carillon.clock(),
    counted_block = case when (v_block + 1) * 262144::bigint > v_last then 0 else v_block + 1 end;
  return v_corrected;
end $$;

-- Counts what prefixes use of their quotas. Schedules of longer prefixes count too. Written bytes are
-- those of the current day in UTC. Tokens, holds and commands
-- are those of callers whose first prefix it is.
-- Locks: none.
-- Returns: a row for each prefix.
-- Called by: quotasOf in lib/quota/read-quotas.ts.
create or replace function carillon.quota_usage(p_prefixes text[])
  returns table (prefix text, schedules bigint, per_year bigint, payload_bytes bigint, written_bytes bigint, tokens bigint, holds bigint, inbox_rows bigint)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select p.prefix, coalesce(u.schedules, 0), coalesce(u.per_year, 0)::bigint, coalesce(u.payload_bytes, 0)::bigint, coalesce(u.written_bytes, 0)::bigint,
      (select count(*) from carillon.tokens t
        where coalesce(t.team, t.prefix) = p.prefix collate "C" and t.name !~* '^(iam|jwt|stack):'),
      (select count(*) from carillon.shared_holds h where h.team = p.prefix collate "C"),
      (select count(*) from carillon.caller_prefixes c join pg_roles r on r.oid = c.role
        join carillon.inbox i on i.caller = r.rolname::text where c.prefix = p.prefix collate "C")
    from unnest(p_prefixes) p (prefix)
    cross join (select (carillon.clock() at time zone 'UTC')::date as today) d
    cross join lateral (
      select sum(u.schedules) as schedules, sum(u.per_year) as per_year, sum(u.payload_bytes) as payload_bytes,
        sum(u.written_bytes) filter (where u.written_on >= d.today) as written_bytes
      from carillon.teams t join carillon.usage u on u.team_id = t.id
      where t.prefix >= p.prefix collate "C" and t.prefix < (p.prefix || chr(1114111)) collate "C") u
  $$;
