import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** Of an edit that makes more, each is its own: the edit holds its shard's gate. */
const joinedMax = 10;

/**
 * Puts what an edit has made for the slow queue with what others have made for the same target at the same time, as the tick does by
 * itself: a thousand schedules put one by one for one instant are a hundred messages. Returns what is still to be sent.
 */
export async function joinParcels(tx: Tx, parcels: readonly OutgoingParcel[]): Promise<OutgoingParcel[]> {
  const slow = parcels.filter(({ queue }) => queue === "slow");
  if (slow.length === 0 || slow.length > joinedMax) return [...parcels];
  const joined = await tx<{ id: string }[]>`
    select p.id from unnest(${slow.map(({ id }) => id)}::bigint[]) p (id) where carillon.join_parcel(p.id)`;
  const gone = new Set(joined.map(({ id }) => id));
  return parcels.filter(({ id }) => !gone.has(id));
}
