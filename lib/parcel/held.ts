import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** Cancels jobs that wait for holds of schedules that are being deleted. */
export async function cancelHeld(tx: Tx, scheduleIds: readonly string[]): Promise<void> {
  await tx`
    with gone as (
      delete from carillon.parcels where held_schedule = any(${scheduleIds}::bigint[]) returning id, occurrences, schedule_ids, kinds, ns
    )
    update carillon.jobs j
    set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = carillon.clock()
    from gone g cross join lateral unnest(g.occurrences, g.schedule_ids, g.kinds, g.ns) k (occurrence, schedule_id, kind, n)
    where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = g.id`;
}

/** Releases jobs that waited for the last hold of each of these schedules. */
export async function releaseHeld(tx: Tx, scheduleIds: readonly string[]): Promise<OutgoingParcel[]> {
  const released = await tx<OutgoingParcel[]>`
    update carillon.parcels
    set held_schedule = null, ready_at = carillon.clock(), offer_at = carillon.clock() + interval '20 seconds'
    where held_schedule = any(${scheduleIds}::bigint[])
    returning id, queue, 0::float8 as "waitMs"`;
  await readyWithParcels(tx, released);
  return released;
}

/**
 * Makes jobs that wait for a hold of these schedules wait until this end, or without one until the
 * hold is released. Returns their parcels to be sent, if there is an end.
 */
export async function holdParked(
  tx: Tx,
  scheduleIds: readonly string[],
  until: Date | null,
): Promise<OutgoingParcel[]> {
  const parked = await tx<OutgoingParcel[]>`
    update carillon.parcels
    set ready_at = coalesce(${until}::timestamptz, 'infinity'),
      offer_at = coalesce(greatest(${until}::timestamptz - interval '150 seconds', carillon.clock() + interval '20 seconds'), 'infinity')
    where held_schedule = any(${scheduleIds}::bigint[]) and lease_until is null
    returning id, queue,
      case when ready_at < 'infinity' then greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000) else 0 end::float8 as "waitMs"`;
  await readyWithParcels(tx, parked);
  return until === null ? [] : parked;
}

/** A job is ready when its parcel is. */
async function readyWithParcels(tx: Tx, parcels: readonly OutgoingParcel[]): Promise<void> {
  if (parcels.length === 0) return;
  await tx`
    update carillon.jobs j set ready_at = p.ready_at
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = any(${parcels.map(({ id }) => id)}::bigint[])
      and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id`;
}
