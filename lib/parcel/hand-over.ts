import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import { delayMaxMs, type OutgoingParcel, type ParcelQueue, sendParcels } from "./parcel-queue.ts";

/**
 * Sends parcels after the transaction that made them, and marks those that arrived. Parcels that
 * are ready later than a message can wait are left to the sweep, which offers them when their time
 * is near. Returns the ids of parcels that were not sent because the queue's `time` was up.
 */
export async function handOver(
  sql: Sql,
  queue: ParcelQueue,
  parcels: readonly OutgoingParcel[],
): Promise<string[]> {
  const near = parcels.filter(({ waitMs }) => waitMs <= (queue.delayMaxMs ?? delayMaxMs));
  if (near.length === 0) return [];
  const { sent, left } = await sendParcels(queue, await inGroups(sql, queue, near));
  if (left.length > 0) queue.log.warn("parcel.left", { parcels: left.length });
  if (sent.length === 0) return left;
  try {
    await markSent(sql, sent);
  } catch (error) {
    // The parcels are committed in any case. Unmarked, they are only offered once more than
    // necessary.
    queue.log.warn("parcel.unmarked", { parcels: sent.length, error: errorText(error) });
  }
  return left;
}

/** Looks up groups that are not known. A parcel that is sent without its group only comes earlier than it should. */
async function inGroups(
  sql: Sql,
  { log }: ParcelQueue,
  parcels: readonly OutgoingParcel[],
): Promise<readonly OutgoingParcel[]> {
  const unknown = parcels.filter(({ group }) => group === undefined);
  if (unknown.length === 0) return parcels;
  try {
    const rows = await sql<{ id: string; group: string }[]>`
      select id, message_group as group from carillon.message_groups(${unknown.map(({ id }) => id)}::bigint[])`;
    const groups = new Map(rows.map(({ id, group }) => [id, group]));
    return parcels.map((parcel) => ({ ...parcel, group: groups.get(parcel.id) ?? parcel.group }));
  } catch (error) {
    log.warn("parcel.ungrouped", { parcels: unknown.length, error: errorText(error) });
    return parcels;
  }
}

/** A marked parcel is offered again only if it is unclaimed a minute after it was ready. */
async function markSent(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`select carillon.mark_sent(${[...ids]}::bigint[])`;
}
