-- Reads the pulses that beat at a second of a shard, with their envelopes, in the order of (interval, team,
-- schedule). p_team_from and p_team_to: only those of the teams with these numbers. A page of one team begins
-- behind the place (p_every, p_schedule). It reads in lots of up to 250 pulses and stops at
-- p_rows pulses, or after the lot that reaches p_bytes. p_times is the text of an envelope between its
-- occurrence and its constant members. p_targets: only pulses of these targets; null: of all.
-- Locks: none.
-- Returns: for each lot a row per team and target: the number of pulses, the last schedule among them, and the
-- envelopes, separated by U+001F, which JSON text never holds. The rows of a lot are in no order. A last row
-- without an interval says that there are no more pulses.
-- Called by: readPulses in lib/pulse/read-pulses.ts.
create or replace function carillon.read_pulses(p_shard int, p_second bigint, p_team_from int, p_team_to int, p_targets int[], p_every int, p_schedule bigint, p_times text, p_rows int, p_bytes int)
  returns table (every_s int, target_id int, pulses int, last_schedule bigint, envelopes text)
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  -- Rows come in the order of the index, and targets are grouped by a hash: neither needs a sort.
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_sort = off
  as $$
#variable_conflict use_column
declare
  v_shard smallint := p_shard;
  v_rows int := p_rows;
  v_bytes bigint := p_bytes;
  v_every int;
  v_team int;
  v_from bigint;
  v_beginning constant text := '{"id":"';
  v_between constant text := chr(31) || '{"id":"';
  v_most int;
  v_wanted int;
  v_read int;
  v_size bigint;
  v_group record;
begin
  -- The interval before the first one that is read.
  v_every := p_every - 1;
  loop
    -- One interval after the other, so that none is passed: a page continues behind the place where the last one
    -- ended. A query for all intervals would need a sort, or return them in any order.
    select p.every_s into v_every from carillon.pulses p where p.shard = v_shard and p.every_s > v_every order by p.every_s limit 1;
    exit when not found;
    continue when not exists (
      select from carillon.pulses p where p.shard = v_shard and p.every_s = v_every and p.offset_s = p_second % v_every);
    v_team := p_team_from;
    v_from := case when v_every = p_every then p_schedule else 0 end;
    -- The envelopes of the next interval may be longer than those of the one before: begin with a small lot.
    v_most := 100;
    loop
      v_wanted := least(v_rows, v_most);
      v_read := 0;
      v_size := 0;
      for v_group in
        select s.team_id, s.target_id, count(*)::int as pulses, max(s.schedule_id) as last_schedule, sum(octet_length(s.rest)) as bytes,
          string_agg(s.schedule_id || '-' || p_second - s.lag_s || p_times || s.rest, v_between) as envelopes
        from (
          select p.team_id, p.target_id, p.schedule_id, p.lag_s, p.rest
          from carillon.pulses p
          where p.shard = v_shard and p.every_s = v_every and p.offset_s = p_second % v_every
            and (p.team_id, p.schedule_id) > (v_team, v_from) and p.team_id <= p_team_to
            and p.starts_s <= p_second and (p.ends_s is null or p.ends_s > p_second)
            and (p_targets is null or p.target_id = any(p_targets))
          order by p.team_id, p.schedule_id limit v_wanted
        ) s
        group by s.team_id, s.target_id
      loop
        v_read := v_read + v_group.pulses;
        v_size := v_size + v_group.bytes;
        if (v_group.team_id, v_group.last_schedule) > (v_team, v_from) then
          v_team := v_group.team_id;
          v_from := v_group.last_schedule;
        end if;
        every_s := v_every;
        target_id := v_group.target_id;
        pulses := v_group.pulses;
        last_schedule := v_group.last_schedule;
        envelopes := v_beginning || v_group.envelopes;
        return next;
      end loop;
      v_rows := v_rows - v_read;
      v_bytes := v_bytes - v_size;
      if v_rows <= 0 or v_bytes <= 0 then return; end if;
      exit when v_read < v_wanted;
      -- Few enough that the envelopes are still in the cache when they are joined, and no more than fit into
      -- the bytes that are left if they are as long as those of this lot.
      v_most := greatest(1, least(250, v_bytes * v_read / v_size));
    end loop;
  end loop;
  return query select null::int, null::int, null::int, null::bigint, null::text;
end $$;
