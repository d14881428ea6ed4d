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
