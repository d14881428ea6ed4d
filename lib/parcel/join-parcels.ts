import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** An edit that makes more parcels joins none: it would hold its shard's gate for longer. */
const joinedMax = 10;

/**
 * Joins slow parcels of an edit with parcels of other edits for the same target and time, as the
 * tick packs jobs anyway: a thousand schedules that are put one by one for one instant then need a
 * hundred messages. Returns the parcels that remain to be sent.
 */
export async function joinParcels(tx: Tx, parcels: readonly OutgoingParcel[]): Promise<OutgoingParcel[]> {
  const slow = parcels.filter(({ queue }) => queue === "slow");
  if (slow.length === 0 || slow.length > joinedMax) return [...parcels];
  const joined = await tx<{ id: string }[]>`
    select p.id from unnest(${slow.map(({ id }) => id)}::bigint[]) p (id) where carillon.join_parcel(p.id)`;
  const gone = new Set(joined.map(({ id }) => id));
  return parcels.filter(({ id }) => !gone.has(id));
}
