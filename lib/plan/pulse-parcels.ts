import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";

/**
 * Makes missing parcels of pulses. The ticks have made parcels up to `pulsed_to`, for each second
 * at which a pulse of the shard was due. A pulse that an edit or the end of a hold adds later may
 * need parcels for other seconds, which is rare. Runs after the write of the schedules, under their
 * plan lock, so that the next tick sees the pulses.
 */
export async function parcelsOfPulses(tx: Tx, scheduleIds: readonly string[]): Promise<OutgoingParcel[]> {
  if (scheduleIds.length === 0) return [];
  return tx<OutgoingParcel[]>`
    with moment as materialized (
      select carillon.clock() as now, floor(extract(epoch from carillon.clock()))::bigint as second
    ), beating as materialized (
      select p.shard, p.every_s, p.offset_s, min(greatest(p.starts_s, m.second + 1)) as from_s, max(coalesce(p.ends_s, 9223372036854775807)) as ends_s
      from carillon.pulses p cross join moment m
      where p.schedule_id = any(${scheduleIds}::bigint[]) and p.starts_s is not null
      group by p.shard, p.every_s, p.offset_s
    ), due as materialized (
      select distinct b.shard, t.second
      from beating b join carillon.shards s on s.id = b.shard
      cross join lateral generate_series(
        b.from_s + (b.offset_s - b.from_s % b.every_s + b.every_s) % b.every_s,
        least(floor(extract(epoch from s.pulsed_to))::bigint, b.ends_s - 1), b.every_s) t (second)
    )
    insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, occurrences, schedule_ids)
    select d.shard, 'fast', to_timestamp(d.second), m.now + interval '20 seconds', to_timestamp(d.second), '{}', '{}'
    from due d cross join moment m
    where not exists (
      select from carillon.parcels p where p.shard = d.shard and p.pulse_at = to_timestamp(d.second) and p.pulse_targets is null
        and p.pulse_team_from is null)
    order by d.shard, d.second
    on conflict do nothing
    returning id, queue, (extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs", null::text as group`;
}
