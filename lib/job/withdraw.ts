import { type Cadence, nextAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";

/**
 * Deletes the jobs of a cadence that are not due yet at the cut: they never started, and are planned anew. The cadence
 * tells which occurrences there may be, so each is probed by its primary key.
 * A statement of its own, before the next version is planned: in one statement with it the new row would meet the old one
 * (both in the same snapshot) as a conflict, and the withdrawn job would live.
 */
export async function withdraw(
  tx: Tx,
  scheduleId: string,
  cadence: Cadence,
  cut: Date,
  reachedAt: Date,
): Promise<void> {
  const occurrences = occurrencesWithin(cadence, cut.getTime(), reachedAt.getTime());
  if (occurrences.length === 0) return;
  await tx`
    delete from carillon.jobs
    where occurrence = any(${tx.array(occurrences)}::timestamptz[]) and schedule_id = ${scheduleId} and kind = 'cadence' and n = 0
      and state = 'waiting' and attempt = 0 and due_at > ${cut}`;
}

function occurrencesWithin(cadence: Cadence, after: number, upTo: number): Date[] {
  const found: Date[] = [];
  for (let at = nextAfter(cadence, after); at !== null && at <= upTo; at = nextAfter(cadence, at))
    found.push(new Date(at));
  return found;
}

/** Cancels what waits for a hold of a schedule that is being deleted. */
export async function cancelHeld(tx: Tx, scheduleId: string): Promise<void> {
  await tx`
    with gone as (
      delete from carillon.parcels where held_schedule = ${scheduleId} returning id, occurrences, schedule_ids, kinds, ns
    )
    update carillon.jobs j
    set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = carillon.clock()
    from gone g cross join lateral unnest(g.occurrences, g.schedule_ids, g.kinds, g.ns) k (occurrence, schedule_id, kind, n)
    where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = g.id`;
}

export interface ReleasedParcel {
  id: string;
  queue: "fast" | "slow";
  waitMs: number;
}

/** Lets go what waited for the last hold of a schedule to be released. */
export async function releaseHeld(tx: Tx, scheduleId: string): Promise<ReleasedParcel[]> {
  const released = await tx<ReleasedParcel[]>`
    update carillon.parcels
    set held_schedule = null, ready_at = carillon.clock(), offer_at = carillon.clock() + interval '20 seconds'
    where held_schedule = ${scheduleId}
    returning id, queue, 0::float8 as "waitMs"`;
  if (released.length === 0) return [];
  await tx`
    update carillon.jobs j set ready_at = p.ready_at
    from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    where p.id = any(${released.map(({ id }) => id)}::bigint[])
      and j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
      and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id`;
  return released;
}
