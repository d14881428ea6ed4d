import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import { delayMaxMs, type OutgoingParcel, type ParcelQueue, sendParcels } from "./parcel-queue.ts";

/**
 * Sends parcels after the transaction that made them, and marks those that arrived. What is ready later than a message can
 * wait is left to the sweep, which offers it when its time is near. Returns the ids that the queue's `time` did not suffice for.
 */
export async function handOver(
  sql: Sql,
  queue: ParcelQueue,
  parcels: readonly OutgoingParcel[],
): Promise<string[]> {
  const near = parcels.filter(({ waitMs }) => waitMs <= delayMaxMs);
  if (near.length === 0) return [];
  const { sent, left } = await sendParcels(queue, near);
  if (left.length > 0) queue.log.warn("parcel.left", { parcels: left.length });
  if (sent.length === 0) return left;
  try {
    await markSent(sql, sent);
  } catch (error) {
    // Whatever made them is committed and stands: unmarked, they are only offered once more than need be.
    queue.log.warn("parcel.unmarked", { parcels: sent.length, error: errorText(error) });
  }
  return left;
}

/** A sent parcel is offered again only when nobody has claimed it a minute after it was ready. */
async function markSent(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`select carillon.mark_sent(${[...ids]}::bigint[])`;
}
