import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import { delayMaxMs, type OutgoingParcel, type ParcelQueue, sendParcels } from "./parcel-queue.ts";

/**
 * Sends parcels after the transaction that made them, and marks those that arrived. What is ready later than a message can
 * wait is left to the sweep, which offers it when its time is near.
 */
export async function handOver(
  sql: Sql,
  queue: ParcelQueue,
  parcels: readonly OutgoingParcel[],
): Promise<void> {
  const near = parcels.filter(({ waitMs }) => waitMs <= delayMaxMs);
  if (near.length === 0) return;
  const sent = await sendParcels(queue, near);
  if (sent.length === 0) return;
  try {
    await markSent(sql, sent);
  } catch (error) {
    // Whatever made them is committed and stands: unmarked, they are only offered once more than need be.
    queue.log.warn("parcel.unmarked", { parcels: sent.length, error: errorText(error) });
  }
}

/**
 * A sent parcel is offered again only when nobody has claimed it a minute after it was ready; later offers the sweep has
 * counted already. `order by … for update` keeps the lock order; a parcel that somebody holds at this moment is past being
 * offered anyway.
 */
async function markSent(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`
    with locked as (
      select id from carillon.parcels where id = any(${ids}::bigint[]) order by id for update skip locked
    )
    update carillon.parcels p
    set offers = greatest(p.offers, 1),
      offer_at = greatest(p.offer_at, greatest(p.ready_at, carillon.clock()) + interval '1 minute')
    from locked where p.id = locked.id`;
}
