-- The SQL inbox: commands of callers who share the database. A command is written in the caller's own transaction and comes to nothing
-- where that is rolled back; it is applied by the next tick, or at once by whoever is asked to over HTTP.

create table carillon.inbox (
  id bigint generated always as identity primary key,
  -- When it was called: relative times count from here.
  at timestamptz(3) not null,
  -- The role that had logged in.
  caller text not null,
  command jsonb not null,
  -- Of the command as text: tells how much is read at once without reading it.
  bytes int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Commands that were refused when they were applied, and why. Whatever may be a credential is taken out before.
create table carillon.inbox_refusals (
  id bigint primary key,
  at timestamptz(3) not null,
  refused_at timestamptz(3) not null,
  caller text not null,
  key text collate "C",
  command jsonb not null,
  problem text not null,
  faults jsonb not null
);

-- Read newest first, and dropped oldest first.
create index inbox_refusals_newest on carillon.inbox_refusals (refused_at, id);

-- Callers that reach some keys alone. A role's members are bound with it. By number, so that no new name lets a role out.
create table carillon.caller_prefixes (
  role regrole primary key,
  prefix text collate "C" not null
);

-- Only those of its own: a view that nothing can look behind.
create view carillon.inbox_errors with (security_barrier) as
  select r.id, r.at, r.refused_at, r.caller, r.key, r.command, r.problem, r.faults
  from carillon.inbox_refusals r where r.caller = session_user::text;

create view carillon.inbox_status with (security_barrier) as
  select count(*) as waiting, min(i.at) as oldest_at from carillon.inbox i where i.caller = session_user::text;

-- Refuses what nobody's key can be; the rest of the rules (invisible characters of all alphabets) are applied with the command.
create function carillon.inbox_key_fault(p_key text) returns text
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

-- What can be seen at once of a command; null where nothing is wrong with it. The full check is made when it is applied.
create function carillon.inbox_fault(p_verb text, p_value jsonb, p_key text) returns text
  language plpgsql immutable
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_fault text;
begin
  if p_verb in ('put', 'patch', 'job') and jsonb_typeof(p_value) <> 'object' then
    return format('%s takes an object, has a JSON %s', p_verb, jsonb_typeof(p_value))
      || case jsonb_typeof(p_value) when 'string' then ' (where a driver quotes text for jsonb, write $1::text::jsonb)' else '' end;
  end if;
  if jsonb_typeof(p_value) not in ('object', 'string') then return p_verb || ' takes a key, or an object with a key'; end if;
  if jsonb_typeof(p_value -> 'key') <> 'string' then return p_verb || '.key takes a string'; end if;
  v_fault := carillon.inbox_key_fault(p_key);
  if v_fault is not null then return p_verb || '.key ' || v_fault; end if;
  -- A hold is its owner's, and the caller's own without saying so; what Carillon has held by itself, everybody may resume.
  if p_verb in ('pause', 'resume') and p_value -> 'owner' <> 'null' and (p_verb, p_value ->> 'owner') <> ('resume', 'carillon') then
    return p_verb || '.owner is the role that calls, and is not given';
  end if;
  if p_verb = 'pause' and p_value ->> 'until' in ('infinity', '-infinity') then return 'pause.until takes a finite instant'; end if;
  if p_verb = 'put' and jsonb_typeof(p_value -> 'when') is distinct from 'string' then return 'put.when takes a string such as `in 3h`'; end if;
  if p_verb in ('put', 'job') and jsonb_typeof(p_value -> 'target') is distinct from 'object' then
    return p_verb || '.target takes an object such as `{"queue": "…"}`';
  end if;
  -- Without the blanks that Postgres writes and JSON does without.
  if octet_length(replace(replace((p_value -> 'payload')::text, ', ', ','), '": ', '":')) > 240 * 1024 then
    return p_verb || '.payload takes up to 245760 bytes as JSON';
  end if;
  return null;
end $$;

-- A whole number that loses digits where numbers are doubles, such as an id of 64 bits; null where there is none within their reach.
create function carillon.inbox_inexact(p_command jsonb) returns text
  language sql immutable
  set search_path = pg_catalog, pg_temp set extra_float_digits = 1
  as $$
    select n #>> '{}'
    from jsonb_path_query(p_command, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740992 && @ < 4611686018427387904
      || @ < -9007199254740992 && @ > -4611686018427387904))') n
    where n::numeric = trunc(n::numeric) and n::bigint::float8::bigint <> n::bigint and n::bigint::float8::text::numeric <> n::numeric limit 1
  $$;

-- The keys that a role may touch, by their prefixes; null where it may touch all. The owner of Carillon and superusers are bound by none.
create function carillon.inbox_prefixes(p_role name) returns text[]
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
    select array_agg(c.prefix order by c.prefix) from carillon.caller_prefixes c
    where p_role <> current_user and pg_has_role(p_role, c.role, 'member')
      and not (select r.rolsuper from pg_roles r where r.rolname = p_role)
  $$;

-- Takes any one command, as the batch takes it: `{"put": {…}}`, `{"patch": {…}}`, `{"delete": "key"}`, `{"pause": …}`, `{"resume": …}`,
-- beside it maybe `ifMatch` and `ifNoneMatch`; and `{"job": {…}}`, which gets a key where it has none. Returns its number in the inbox.
create function carillon.send_command(command jsonb) returns bigint
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_verb text;
  v_value jsonb;
  v_key text;
  v_fault text;
  v_prefixes text[] := carillon.inbox_prefixes(session_user);
  v_command jsonb := command;
  v_bytes int;
  v_id bigint;
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
  -- Only what has that many brackets is walked through.
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
  if v_prefixes is not null and not exists (select from unnest(v_prefixes) p where starts_with(v_key, p)) then
    raise exception 'Your role reaches keys that begin with %', array_to_string(array(select to_json(p) from unnest(v_prefixes) p), ' or ')
      using errcode = '42501';
  end if;
  insert into carillon.inbox (at, caller, command, bytes) values (carillon.clock(), session_user, v_command, v_bytes) returning id into v_id;
  return v_id;
end $$;

create function carillon.put_schedule(schedule jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('put', schedule)) $$;

create function carillon.patch_schedule(patch jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('patch', patch)) $$;

create function carillon.delete_schedule(key text) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('delete', jsonb_build_object('key', key))) $$;

create function carillon.pause_schedule(key text, reason text default null, until timestamptz default null) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
    select carillon.send_command(jsonb_build_object('pause', jsonb_strip_nulls(jsonb_build_object('key', key, 'reason', reason,
      'until', case when isfinite(until) then to_char(until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') else until::text end))))
  $$;

create function carillon.resume_schedule(key text) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('resume', jsonb_build_object('key', key))) $$;

-- A job without a lasting schedule: `{"target": …, "at"?: "in 5m", "payload"?: …, "key"?: …}`.
create function carillon.enqueue_job(job jsonb) returns bigint
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select carillon.send_command(jsonb_build_object('job', job)) $$;

-- For the owner of Carillon: from now on the role and its members reach keys that begin with the prefix; all of them again where it is null.
create function carillon.restrict_caller(role_name text, key_prefix text) returns void
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
  end if;
end $$;

-- What callers may, and nothing else. Whoever logs in is made a member of it.
do $$
begin
  create role carillon_caller nologin;
exception when duplicate_object or unique_violation then null;
end $$;

revoke execute on all functions in schema carillon from public;
grant usage on schema carillon to carillon_caller;
grant execute on function carillon.send_command(jsonb), carillon.put_schedule(jsonb), carillon.patch_schedule(jsonb),
  carillon.delete_schedule(text), carillon.pause_schedule(text, text, timestamptz), carillon.resume_schedule(text),
  carillon.enqueue_job(jsonb) to carillon_caller;
grant select on carillon.inbox_errors, carillon.inbox_status to carillon_caller;

-- Who applies: the tick, and the API where it is asked to.
grant select, delete on carillon.inbox to carillon_tick, carillon_api;
grant select, insert on carillon.inbox_refusals to carillon_tick, carillon_api;
grant delete on carillon.inbox_refusals to carillon_tick;
-- Beside the right to lock and change marks: a delete that finds nothing is remembered for the queue's sake.
grant insert on carillon.command_marks to carillon_tick;
-- What edits take beside what the tick has had for its own.
grant insert on carillon.schedules to carillon_tick;
grant execute on function carillon.join_parcel(bigint) to carillon_tick;
