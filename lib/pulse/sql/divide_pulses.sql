-- Divides a claimed parcel of pulses, which are too many for one page, by teams: of its teams with a pulse at this
-- second each gets a parcel, so that none waits for the pages of another. Beyond p_most teams the others share a
-- parcel, which is divided when a worker has it. If there is only one team, its parcel stays, and is that
-- team's from now on.
-- Locks: the parcel.
-- Returns: first a row with held, false if the fence is not the caller's, where nothing is written, and with the
-- only team, with whose pulses the caller goes on; then the new parcels, to be sent.
-- Called by: dividePulses in lib/pulse/divide-pulses.ts.
create or replace function carillon.divide_pulses(p_parcel bigint, p_fence int, p_most int)
  returns table (held boolean, team int, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_second bigint;
  v_last int;
  v_teams int[] := '{}';
  v_every int := 0;
  v_team int;
begin
  select p.* into v_parcel from carillon.parcels p
  where p.id = p_parcel and p.fence = p_fence and p.lease_until is not null and p.pulse_at is not null for update;
  if not found then return query select false, null::int, null::bigint, null::carillon.queue_class, null::timestamptz; return; end if;

  v_second := extract(epoch from v_parcel.pulse_at);
  v_last := coalesce(v_parcel.pulse_team_to, 2147483647);
  <<intervals>> loop
    select p.every_s into v_every from carillon.pulses p where p.shard = v_parcel.shard and p.every_s > v_every order by p.every_s limit 1;
    exit intervals when not found;
    v_team := coalesce(v_parcel.pulse_team_from, 0) - 1;
    loop
      select p.team_id into v_team from carillon.pulses p
      where p.shard = v_parcel.shard and p.every_s = v_every and p.offset_s = v_second % v_every and p.team_id > v_team and p.team_id <= v_last
      order by p.team_id limit 1;
      exit when not found;
      continue when v_team = any(v_teams);
      v_teams := array(select t.id from unnest(v_teams || v_team) t (id) order by t.id limit p_most + 1);
      -- Teams behind the first ones are not looked for.
      if cardinality(v_teams) > p_most then v_last := v_teams[p_most + 1]; end if;
    end loop;
  end loop;

  if cardinality(v_teams) < 2 then
    return query
      update carillon.parcels p set pulse_team_from = coalesce(v_teams[1], 0), pulse_team_to = coalesce(v_teams[1], 0) where p.id = p_parcel
      returning true, p.pulse_team_to, null::bigint, null::carillon.queue_class, null::timestamptz;
    return;
  end if;
  delete from carillon.parcels p where p.id = p_parcel;
  return query select true, null::int, null::bigint, null::carillon.queue_class, null::timestamptz;
  return query
    insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_team_from, pulse_team_to,
      occurrences, schedule_ids)
    select v_parcel.shard, v_parcel.queue, v_now, v_now + interval '20 seconds', v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,
      t.id, case when t.n <= p_most then t.id else v_parcel.pulse_team_to end, '{}', '{}'
    from unnest(v_teams) with ordinality t (id, n)
    order by t.n
    returning true, null::int, parcels.id, parcels.queue, parcels.ready_at;
end $$;
