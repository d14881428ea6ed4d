-- Functions are checked when they run: they name each other in no order.
set local check_function_bodies = off;

-- For callers in SQL: writes a command that deletes a schedule. The command is part of the transaction of the
-- caller, and is applied after the commit. A schedule that does not exist by then is no error.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.delete_schedule(key text) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('delete', jsonb_build_object('key', key))) $$;

-- For callers in SQL: writes a command for a job without a lasting schedule:
-- `{"target": …, "at"?: "in 5m", "payload"?: …, "key"?: …}`. A job without a key gets one. The command is
-- part of the transaction of the caller, and is applied after the commit.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.enqueue_job(job jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('job', job)) $$;

-- Finds the first fault that a command alone shows: in its shape, key, owner, target or the size of its
-- payload. The full check is made when the command is applied.
-- Locks: none.
-- Returns: the fault, in words for the caller; null if there is none.
-- Called by: carillon.send_command, before it writes the command.
create or replace function carillon.inbox_fault(p_verb text, p_value jsonb, p_key text) returns text
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_fault text;
  v_bytes int;
begin
  if p_verb in ('put', 'patch', 'job') and jsonb_typeof(p_value) <> 'object' then
    return format('%s takes an object, has a JSON %s', p_verb, jsonb_typeof(p_value))
      || case jsonb_typeof(p_value) when 'string' then ' (where a driver quotes text for jsonb, write $1::text::jsonb)' else '' end;
  end if;
  if jsonb_typeof(p_value) not in ('object', 'string') then return p_verb || ' takes a key, or an object with a key'; end if;
  if jsonb_typeof(p_value -> 'key') <> 'string' then return p_verb || '.key takes a string'; end if;
  v_fault := carillon.inbox_key_fault(p_key);
  if v_fault is not null then return p_verb || '.key ' || v_fault; end if;
  -- A hold belongs to the calling role, so no owner is given. Every caller may resume a hold that Carillon
  -- set itself.
  if p_verb in ('pause', 'resume') and p_value -> 'owner' <> 'null' and (p_verb, p_value ->> 'owner') <> ('resume', 'carillon') then
    return p_verb || '.owner is the role that calls, and is not given';
  end if;
  if p_verb = 'pause' and p_value ->> 'until' in ('infinity', '-infinity') then return 'pause.until takes a finite instant'; end if;
  if p_verb = 'put' and jsonb_typeof(p_value -> 'when') is distinct from 'string' then return 'put.when takes a string such as `in 3h`'; end if;
  if p_verb in ('put', 'job') and jsonb_typeof(p_value -> 'target') is distinct from 'object' then
    return p_verb || '.target takes an object such as `{"queue": "…"}`';
  end if;
  v_bytes := carillon.payload_bytes(p_value -> 'payload');
  if v_bytes > 240 * 1024 then
    return format('%s.payload takes up to 245760 bytes as JSON, has %s', p_verb, v_bytes);
  end if;
  return null;
end $$;

-- Finds a whole number in the command that loses digits where numbers are doubles, such as an id of 64 bits.
-- Only numbers between 2^53 and 2^62, and between their negatives, are tested.
-- Locks: none.
-- Returns: the first such number as text; null if there is none.
-- Called by: carillon.send_command, if the command has 16 digits in a row.
create or replace function carillon.inbox_inexact(p_command jsonb) returns text
  language sql immutable
  set search_path = pg_catalog, pg_temp set extra_float_digits = 1
  as $$
    select n #>> '{}'
    from jsonb_path_query(p_command, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740992 && @ < 4611686018427387904
      || @ < -9007199254740992 && @ > -4611686018427387904))') n
    where n::numeric = trunc(n::numeric) and n::bigint::float8::bigint <> n::bigint and n::bigint::float8::text::numeric <> n::numeric limit 1
  $$;

-- Finds the fault of a text that can be no key. Only a part of the rules is tested. The others, such as
-- invisible characters of all alphabets, are tested when the command is applied.
-- Locks: none.
-- Returns: the fault as the end of a sentence, such as "is required"; null if there is none.
-- Called by: carillon.inbox_fault for the key of a command; carillon.restrict_caller for a prefix.
create or replace function carillon.inbox_key_fault(p_key text) returns text
  language sql immutable
  set search_path = pg_catalog, pg_temp
  as $$
    select case
      when p_key is null then 'is required'
      when length(p_key) not between 1 and 255 then format('takes 1 to 255 characters, has %s', length(p_key))
      when p_key in ('.', '..') then 'may not be `.` or `..`'
      when translate(p_key, '/?#%\', '') <> p_key then 'may not hold any of `/ ? # % \`'
      when btrim(p_key, E' \t\n\r\f\v') <> p_key then 'may not begin or end with a blank'
      when p_key collate "C" ~ '[\x01-\x1f\x7f]' then 'may hold printable characters only'
    end
  $$;

-- Lists the prefixes to which the keys of a role are restricted, also through roles of which it is a member.
-- The owner of Carillon and superusers are not restricted. The owner must be the current user:
-- carillon.send_command runs with the rights of the owner.
-- Locks: none.
-- Returns: the prefixes, ascending; null if the role may use all keys.
-- Called by: carillon.send_command.
create or replace function carillon.inbox_prefixes(p_role name) returns text[]
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select array_agg(c.prefix order by c.prefix) from carillon.caller_prefixes c
    where p_role <> current_user and pg_has_role(p_role, c.role, 'member')
      and not (select r.rolsuper from pg_roles r where r.rolname = p_role)
  $$;

-- For callers in SQL: writes a command that changes the named settings of a schedule and leaves the others.
-- It takes a patch with the `key`. The command is part of the transaction of the caller, and is applied after
-- the commit.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.patch_schedule(patch jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('patch', patch)) $$;

-- For callers in SQL: writes a command that sets a hold in the name of the role that logged in. The command
-- is part of the transaction of the caller, and is applied after the commit. An infinite `until` is passed on
-- as it is, and carillon.inbox_fault refuses it.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.pause_schedule(key text, reason text default null, until timestamptz default null) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select carillon.send_command(jsonb_build_object('pause', jsonb_strip_nulls(jsonb_build_object('key', key, 'reason', reason,
      'until', case when isfinite(until) then to_char(until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') else until::text end))))
  $$;

-- Counts the bytes of a payload as it is sent: JSON without blanks, in which U+FFFE and U+FFFF are escaped,
-- because SQS takes no message with them.
-- Fractions and numbers of 22 digits or more count as one digit, because JSON.stringify may write them
-- shorter than Postgres does (1.50, 1e300). So a call never refuses a payload that the full check accepts;
-- the full check counts these numbers when the command is applied.
-- The blanks are counted too if the payload is within 240 KB even so, or above 1 MB: the result is then an
-- upper bound.
-- Locks: none.
-- Returns: the number of bytes; null without a payload.
-- Called by: carillon.inbox_fault; carillon.make_rechecks.
create or replace function carillon.payload_bytes(p_payload jsonb) returns int
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_text text := p_payload::text;
  v_outside text;
  v_most int;
begin
  v_most := octet_length(v_text) + 3 * (length(v_text) - length(translate(v_text, E'\ufffe\uffff', '')));
  -- Removing the strings takes some milliseconds, and nearly no payload needs it. A command above 1 MB is
  -- refused in any case.
  if v_most <= 240 * 1024 or octet_length(v_text) > 1024 * 1024 then return v_most; end if;
  -- The rest is brackets, commas, colons, numbers and words. Its blanks are those that Postgres writes.
  v_outside := regexp_replace(v_text, '"(?:[^"\\]|\\.)*"', '', 'g');
  return v_most - length(v_outside)
    + length(regexp_replace(translate(v_outside, ' ', ''), '-?(?:\d+\.\d+|\d{22,})', '0', 'g'));
end $$;

-- For callers in SQL: writes a command that creates or replaces a schedule. It takes the schedule as
-- `PUT /v1/schedules/{key}` does, with its `key`. The command is part of the transaction of the caller, and
-- is applied after the commit.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.put_schedule(schedule jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('put', schedule)) $$;

-- For the owner of Carillon: restricts a role and its members to keys that begin with the prefix. An earlier
-- prefix of the role is replaced. A null prefix lifts the restriction. A prefix may end with a blank, though
-- a key may not. The prefix has quotas from then on. Commands that wait keep the reach of their call.
-- Locks: the row of the role in caller_prefixes; then as carillon.keep_team.
-- Returns: nothing. Raises SQLSTATE 22023 if there is no such role, or if no key can begin with the prefix.
-- Called by: the owner of Carillon by hand (docs/sql.md); no code of Carillon.
create or replace function carillon.restrict_caller(role_name text, key_prefix text) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_role oid := (select r.oid from pg_roles r where r.rolname = role_name);
begin
  if v_role is null then
    raise exception 'There is no role %', coalesce(to_json(role_name)::text, 'null') using errcode = '22023';
  end if;
  if key_prefix is null then
    delete from carillon.caller_prefixes where role = v_role::regrole;
  elsif carillon.inbox_key_fault(rtrim(key_prefix, ' ')) is not null then
    raise exception 'The prefix cannot begin a key: it %', carillon.inbox_key_fault(rtrim(key_prefix, ' ')) using errcode = '22023';
  else
    insert into carillon.caller_prefixes (role, prefix) values (v_role::regrole, key_prefix)
    on conflict (role) do update set prefix = excluded.prefix;
    perform carillon.keep_team(key_prefix);
  end if;
end $$;

-- For callers in SQL: writes a command that releases the hold of the role that logged in. The command is part
-- of the transaction of the caller, and is applied after the commit.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises the errors of carillon.send_command.
-- Called by: applications in SQL with the role carillon_caller (docs/sql.md); no code of Carillon.
create or replace function carillon.resume_schedule(key text) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('resume', jsonb_build_object('key', key))) $$;

-- Refuses a command if as many of the role that logged in wait in the inbox as the quota `inboxRows` of its prefix
-- allows. Rows of other transactions that are not committed do not count.
-- Locks: none.
-- Returns: the number of the next command at which the role has to be counted again. Commands of all roles
-- have one sequence of numbers, so the role cannot be at its limit before. After 10,000 numbers it is counted
-- in any case, so that a changed quota applies. Raises SQLSTATE 53400 at the limit.
-- Called by: carillon.send_command, if the newest command of the role does not show that there is room.
create or replace function carillon.refuse_full_inbox(p_prefix text, p_id bigint) returns bigint
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_caller text := session_user;
  v_most bigint := 100000;
  v_rows bigint;
begin
  select q.most into v_most from carillon.quota_limits q
  where q.kind = 'inboxRows' and q.prefix in (p_prefix, '') order by q.prefix desc limit 1;
  if not found then v_most := 100000; end if;
  if v_most is null then return p_id + 10000; end if;
  select count(*) into v_rows from (
    select from carillon.inbox i where i.caller >= v_caller and i.caller <= v_caller order by i.caller, i.id limit v_most) own;
  if v_rows >= v_most then
    raise exception 'Your role has % commands in the inbox, the most that its quota allows: wait until they are applied, or raise the quota inboxRows', v_most using errcode = '53400';
  end if;
  return p_id + least(v_most - v_rows, 10000);
end $$;

-- Writes one command into the inbox, in the transaction of the caller: a rollback withdraws it. The tick
-- applies it after the commit.
-- It takes any command that a batch takes: `{"put": {…}}`, `{"patch": {…}}`, `{"delete": "key"}`,
-- `{"pause": …}` or `{"resume": …}`, each with optional `ifMatch` and `ifNoneMatch`. It also takes
-- `{"job": {…}}`; a job without a key gets one, which begins with the first prefix of the role.
-- Faults that the command alone shows are refused at once; the full check is made when the command is
-- applied. Relative times count from this call. The function runs with the rights of the owner; the caller is
-- the role that logged in.
-- The command keeps its key and its reach: of the prefixes that the role has now, the longest one that the key
-- begins with. A later change of the restriction alters no command that waits.
-- Locks: none.
-- Returns: the number of the command in the inbox. Raises SQLSTATE 22023 if the command is not understood,
-- 42501 if the role may not use the key, and 53400 if the role has too many commands in the inbox.
-- Called by: carillon.put_schedule, patch_schedule, delete_schedule, pause_schedule, resume_schedule and
-- enqueue_job; applications in SQL (docs/sql.md).
create or replace function carillon.send_command(command jsonb) returns bigint
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  as $$
declare
  v_verb text;
  v_value jsonb;
  v_key text;
  v_fault text;
  v_prefixes text[] := carillon.inbox_prefixes(session_user);
  v_reach text;
  v_command jsonb := command;
  v_bytes int;
  v_caller text := session_user;
  v_id bigint;
  v_recount_at bigint;
begin
  if jsonb_typeof(command) is distinct from 'object' then
    raise exception 'The command is not understood: it takes an object with one of put, patch, delete, pause, resume, job' using errcode = '22023';
  end if;
  select min(m.key), case when count(*) <> 1 then 'takes one of put, patch, delete, pause, resume, job, and one alone' end into v_verb, v_fault
  from jsonb_object_keys(command) m (key) where m.key in ('put', 'patch', 'delete', 'pause', 'resume', 'job');
  if v_fault is null then
    v_value := command -> v_verb;
    if v_verb = 'job' and jsonb_typeof(v_value) = 'object' and coalesce(v_value -> 'key', 'null') = 'null' then
      v_value := v_value || jsonb_build_object('key', concat(v_prefixes[1], 'job:', gen_random_uuid()));
      v_command := jsonb_build_object('job', v_value) || (command - 'job');
    end if;
    v_key := case jsonb_typeof(v_value) when 'string' then v_value #>> '{}' when 'object' then v_value ->> 'key' end;
    v_fault := carillon.inbox_fault(v_verb, v_value, v_key);
  end if;
  v_bytes := octet_length(v_command::text);
  -- Only a text with more than 64 opening brackets is walked through.
  if v_fault is null and length(translate(v_command::text, '[{', '')) < length(v_command::text) - 64
    and jsonb_path_exists(v_command, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")') then
    v_fault := 'it is nested more than 64 levels deep';
  end if;
  if v_fault is null and v_command::text ~ '[0-9]{16}' then
    v_fault := 'the number ' || carillon.inbox_inexact(v_command) || ' cannot be kept exactly; send it as a string';
  end if;
  if v_fault is null and v_bytes > 1024 * 1024 then v_fault := format('takes up to 1048576 bytes as JSON, has %s', v_bytes); end if;
  if v_fault is not null then
    raise exception 'The command is not understood: %', v_fault using errcode = '22023';
  end if;
  select p into v_reach from unnest(v_prefixes) p where starts_with(v_key, p) order by length(p) desc limit 1;
  if v_prefixes is not null and v_reach is null then
    raise exception 'Your role reaches keys that begin with %', array_to_string(array(select to_json(p) from unnest(v_prefixes) p), ' or ')
      using errcode = '42501';
  end if;
  v_id := nextval('carillon.inbox_id_seq');
  -- Counting at each call would cost more than the command itself, so a count says up to which number the role cannot reach its
  -- quota. Numbers that other roles take bring the next count nearer, and never let a command through. A range of one role, and not
  -- an equality, makes the planner read the index of roles.
  select i.recount_at into v_recount_at from carillon.inbox i
  where i.caller >= v_caller and i.caller <= v_caller order by i.caller desc, i.id desc limit 1;
  if v_recount_at is null or v_id >= v_recount_at then
    v_recount_at := carillon.refuse_full_inbox(coalesce(v_prefixes[1], ''), v_id);
  end if;
  insert into carillon.inbox (id, at, caller, reach, key, command, bytes, recount_at) overriding system value
  values (v_id, carillon.clock(), v_caller, coalesce(v_reach, ''), v_key, v_command, v_bytes, v_recount_at);
  return v_id;
end $$;
