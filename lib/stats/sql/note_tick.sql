-- Marks that a tick has fired, and keeps the ledger of outages (carillon.outages).
-- A gap of more than 150 s from the last mark to the begin of this tick (p_began; null: not known, then its mark) is an
-- outage. It is one of the database if its server was restarted in the gap, or if p_unreached says that a tick could not
-- reach it; otherwise it is one of the tick. It ends with that begin: what this tick decides, it decides after it.
-- The workers of a queue are away while parcels are ready, sent and not claimed for a minute, no worker has claimed
-- a parcel of the queue for as long, whether with jobs or without, and none has one under a lease. That outage begins
-- when the first of these parcels could have been claimed and the last work had ended, and ends with the next claim,
-- or when no such parcel is left. It is not looked for across a gap: the messages of that time are only being sent.
-- It looks at no more than the 1,000 parcels whose next message is due first, 10,000 while an outage lasts. Nearly
-- always there is none of them, and it reads no further. Outages older than p_retention are deleted.
-- Locks: the row of the heartbeat; the open outages.
-- Returns: the outages that were noted or have ended now.
-- Called by: noteTick in lib/tick/housekeeping/note-tick.ts, once per tick, after it has fired and before its sweep.
create or replace function carillon.note_tick(p_unreached boolean, p_retention interval, p_began timestamptz)
  returns table (what text, from_at timestamptz, to_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_began timestamptz := coalesce(p_began, v_now);
  v_started timestamptz(3) := pg_postmaster_start_time();
  v_last carillon.heartbeat;
  v_queue carillon.queue_class;
  v_open timestamptz;
  v_since timestamptz;
  v_claim timestamptz;
  v_emptied timestamptz;
  v_fast_empty bigint := (select q.last_value - case when q.is_called then 0 else 1 end from carillon.fast_empty_claims q);
  v_slow_empty bigint := (select q.last_value - case when q.is_called then 0 else 1 end from carillon.slow_empty_claims q);
  v_fast_emptied timestamptz;
  v_slow_emptied timestamptz;
begin
  select h.* into v_last from carillon.heartbeat h for update;
  update carillon.heartbeat h set ticked_at = greatest(h.ticked_at, v_now), server_started_at = v_started,
    fast_empty_claims = v_fast_empty, fast_emptied_at = case when v_fast_empty <> h.fast_empty_claims then v_now else h.fast_emptied_at end,
    slow_empty_claims = v_slow_empty, slow_emptied_at = case when v_slow_empty <> h.slow_empty_claims then v_now else h.slow_emptied_at end
  returning h.fast_emptied_at, h.slow_emptied_at into v_fast_emptied, v_slow_emptied;
  delete from carillon.outages o
  where o.what in ('tick', 'database', 'fast-workers', 'slow-workers') and o.from_at < v_now - p_retention and o.to_at is not null;
  if v_began > v_last.ticked_at + interval '150 seconds' then
    return query
      insert into carillon.outages (what, from_at, to_at, noted_at)
      values (case when p_unreached or v_last.server_started_at is distinct from v_started then 'database' else 'tick' end, v_last.ticked_at, v_began, v_now)
      returning outages.what, outages.from_at::timestamptz, outages.to_at::timestamptz;
  end if;
  foreach v_queue in array enum_range(null::carillon.queue_class) loop
    v_open := (select o.from_at from carillon.outages o where o.what = v_queue || '-workers' and o.to_at is null);
    v_since := carillon.unclaimed_since(v_queue, v_now, case when v_open is null then 1000 else 10000 end);
    continue when v_open is null and v_since is null;
    v_emptied := case v_queue when 'fast' then v_fast_emptied else v_slow_emptied end;
    if v_open is not null then
      v_claim := least(
        (select min(t.claimed_at) from carillon.parcel_times t where t.queue = v_queue and t.claimed_at > v_open),
        (select min(p.claimed_at) from carillon.parcels p where p.queue = v_queue and p.lease_until is not null and p.claimed_at > v_open),
        case when v_emptied > v_open then v_emptied end);
      continue when v_claim is null and v_since is not null;
      return query
        update carillon.outages o set to_at = coalesce(v_claim, v_now) where o.what = v_queue || '-workers' and o.to_at is null
        returning o.what, o.from_at::timestamptz, o.to_at::timestamptz;
      continue;
    end if;
    -- A worker that has a parcel for long is at work, though it claims no other meanwhile.
    continue when exists (select from carillon.parcels p where p.queue = v_queue and p.lease_until >= v_now);
    v_since := greatest(v_since, v_emptied,
      (select t.settled_at from carillon.parcel_times t where t.queue = v_queue and t.claimed_at <= v_now order by t.claimed_at desc limit 1),
      (select max(o.to_at) from (select g.to_at from carillon.outages g where g.what = 'tick' order by g.from_at desc limit 1) o),
      (select max(o.to_at) from (select g.to_at from carillon.outages g where g.what = 'database' order by g.from_at desc limit 1) o));
    continue when v_since > v_now - interval '1 minute';
    return query
      insert into carillon.outages (what, from_at, noted_at) values (v_queue || '-workers', v_since, v_now)
      on conflict do nothing
      returning outages.what, outages.from_at::timestamptz, null::timestamptz;
  end loop;
end $$;
