-- Finds the seconds from p_from to p_to at which a shard has a pulse, by steps through the index from one
-- interval to the next and from one offset to the next. To be sure costs more than a parcel too many, so a
-- second may be returned without need: all of them if the search takes more than p_looks steps, and a second
-- for which the first hundred pulses of an interval and offset are all held or over.
-- Locks: none. The caller holds the shard's plan lock.
-- Returns: the seconds since 1970, ascending.
-- Called by: carillon.make_pulse_parcels, where it inserts the parcels.
create or replace function carillon.pulse_seconds(p_shard int, p_from bigint, p_to bigint, p_looks int) returns setof bigint
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  as $$
declare
  v_shard smallint := p_shard;
  v_size int := p_to - p_from + 1;
  v_missing int := p_to - p_from + 1;
  v_due boolean[] := array_fill(false, array[greatest(p_to - p_from + 1, 1)::int]);
  v_looks int := 0;
  v_every int := 0;
  v_phase int;
  v_offset int;
  v_last int;
  v_at int;
begin
  if v_size < 1 then return; end if;
  <<intervals>> loop
    select p.every_s into v_every from carillon.pulses p where p.shard = v_shard and p.every_s > v_every order by p.every_s limit 1;
    exit intervals when not found;
    v_looks := v_looks + 1;
    v_phase := p_from % v_every;
    -- Offsets come due from that of p_from up to the last of the interval, and then from the first.
    for v_round in 1..2 loop
      v_offset := case v_round when 1 then v_phase else 0 end - 1;
      v_last := case v_round when 1 then least(v_every, v_phase + v_size) else least(v_phase, v_phase + v_size - v_every) end - 1;
      loop
        v_looks := v_looks + 1;
        if v_looks > p_looks then
          v_due := array_fill(true, array[v_size]);
          exit intervals;
        end if;
        select p.offset_s into v_offset from carillon.pulses p
        where p.shard = v_shard and p.every_s = v_every and p.offset_s > v_offset and p.offset_s <= v_last order by p.offset_s limit 1;
        exit when not found;
        v_at := 1 + (v_offset - v_phase + v_every) % v_every;
        while v_at <= v_size loop
          if not v_due[v_at] then
            v_looks := v_looks + 1;
            if (select count(*) filter (where l.live) > 0 or count(*) = 100
              from (select p.starts_s < p_from + v_at and coalesce(p.ends_s >= p_from + v_at, true) as live from carillon.pulses p
                where p.shard = v_shard and p.every_s = v_every and p.offset_s = v_offset order by p.team_id, p.schedule_id limit 100) l) then
              v_due[v_at] := true;
              v_missing := v_missing - 1;
            end if;
          end if;
          v_at := v_at + v_every;
        end loop;
        exit intervals when v_missing = 0;
      end loop;
    end loop;
  end loop;
  return query select p_from + d.at - 1 from unnest(v_due) with ordinality d (due, at) where d.due;
end $$;
