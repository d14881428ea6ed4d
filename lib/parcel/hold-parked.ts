import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** What is parked for the holds of schedules stays so until the holds' end, for ever where they have none. */
export async function holdParked(
  tx: Tx,
  scheduleIds: readonly string[],
  until: Date | null,
): Promise<OutgoingParcel[]> {
  const parked = await tx<(OutgoingParcel & { readyAt: Date })[]>`
    update carillon.parcels
    set ready_at = coalesce(${until}::timestamptz, 'infinity'),
      offer_at = coalesce(greatest(${until}::timestamptz - interval '150 seconds', carillon.clock() + interval '20 seconds'), 'infinity')
    where held_schedule = any(${scheduleIds}::bigint[]) and lease_until is null
    returning id, queue, case when ready_at < 'infinity' then greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000) else 1e12 end::float8 as "waitMs"`;
  if (parked.length === 0) return [];
  await tx`
    update carillon.jobs j set ready_at = p.ready_at
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = any(${parked.map(({ id }) => id)}::bigint[])
      and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id`;
  return parked.map(({ id, queue, waitMs }) => ({ id, queue, waitMs }));
}
