-- Sets aside a parcel whose claim has failed, in the quarantine, as lib/quarantine/quarantine.ts sets rows
-- aside. A function, because workers have no right to the quarantine itself. The entry names the schedule if
-- one job is left in the parcel, whatever its lists say. The next try comes after a minute, then after 2, 4 …
-- 64 minutes.
-- Locks: the entry's row.
-- Returns: the entry; no row if the parcel is not to be claimed any more, for example because another worker
-- has claimed it.
-- Called by: setClaimAside in lib/parcel/claims-aside.ts, for a parcel that cannot be split.
create or replace function carillon.set_claim_aside(p_parcel bigint, p_reason text)
  returns table (item text, schedule_id bigint, reason text, tries int, next_at timestamptz)
  language sql security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.quarantine as q (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
    select 'claim', p.id::text, o.schedule_id, left(p_reason, 2000), c.now, c.now, 1, c.now + interval '1 minute'
    from (select carillon.clock() as now) c cross join carillon.parcels p cross join lateral (
      select case count(*) when 1 then min(j.schedule_id) end as schedule_id
      from unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id) o
    where p.id = p_parcel and p.lease_until is null and p.lane is null and p.ready_at <= c.now
    on conflict (consumer, item) do update
    set schedule_id = excluded.schedule_id, reason = excluded.reason, last_at = excluded.last_at, tries = least(greatest(q.tries, 0), 1000000000) + 1,
      next_at = excluded.last_at + interval '1 minute' * power(2, least(greatest(q.tries, 0), 6))
    returning q.item, q.schedule_id, q.reason, q.tries, q.next_at
  $$;
