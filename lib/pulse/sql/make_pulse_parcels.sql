-- Makes the parcels of a shard's pulses, one for each second with a pulse, from where they end now up to
-- p_horizon_ms ahead. Seconds that are more than p_missed_ms ago get none: if the shard has a pulse, they are
-- noted as passed over (`missed`). p_looks bounds the search of carillon.pulse_seconds.
-- Locks: the shard's plan lock, exclusively, before anything is read: an edit has committed before and is
-- seen, or comes later and sees how far the parcels reach. Then the shard's row.
-- Returns: the parcels, to be sent in wait_ms; before them, if seconds were passed over, a row with their
-- number and no id.
-- Called by: makeParcelsOf in lib/tick/fire/make-pulse-parcels.ts.
create or replace function carillon.make_pulse_parcels(p_shard int, p_horizon_ms int, p_missed_ms int, p_looks int)
  returns table (id bigint, wait_ms float8, passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_shard smallint := p_shard;
  v_now timestamptz;
  v_next bigint;
  v_oldest bigint;
  v_last bigint;
begin
  perform pg_advisory_xact_lock(1, p_shard);
  v_now := carillon.clock();
  select extract(epoch from s.pulsed_to)::bigint + 1 into v_next from carillon.shards s where s.id = v_shard;
  v_oldest := ceil(extract(epoch from v_now - p_missed_ms * interval '1 millisecond'));
  v_last := floor(extract(epoch from v_now + p_horizon_ms * interval '1 millisecond'));
  if v_next > v_last then return; end if;
  if v_next < v_oldest then
    if exists (select from carillon.pulses p where p.shard = v_shard) then
      insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, reason)
      values (to_timestamp(v_next), to_timestamp(v_oldest - 1), v_now, v_shard, 'missed');
      return query select null::bigint, null::float8, v_oldest - v_next;
    end if;
    v_next := v_oldest;
  end if;
  return query
    insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, occurrences, schedule_ids)
    select v_shard, 'fast', to_timestamp(s.second), greatest(v_now + interval '20 seconds', to_timestamp(s.second) - interval '150 seconds'),
      to_timestamp(s.second), '{}', '{}'
    from carillon.pulse_seconds(p_shard, v_next, v_last, p_looks) s (second)
    on conflict do nothing
    returning parcels.id, greatest(0, extract(epoch from parcels.ready_at - v_now) * 1000)::float8, null::bigint;
  update carillon.shards s set pulsed_to = to_timestamp(v_last) where s.id = v_shard;
end $$;
