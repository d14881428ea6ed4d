import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";

/** For a statement that packs jobs: the few targets that have limits, as `limits` (id, concurrency, rate_count, rate_ms). */
export function targetLimits(tx: Tx): postgres.PendingQuery<postgres.Row[]> {
  return tx`
    limits as materialized (
      select id, concurrency, rate_count, rate_ms from carillon.targets where concurrency is not null or rate_count is not null
    )`;
}

/** A parcel that was just made. */
export interface MadeParcel extends OutgoingParcel {
  /** Its target, where that has a rate: who makes many spreads them before they are sent. */
  rated: number | null;
}

/**
 * Spreads new parcels of targets that have a rate over the time that their jobs will take, so that they come to the workers when they may
 * start. Each target in a transaction of its own. What is not spread the claim keeps to the rate all the same, at the price of a message.
 */
export async function spreadParcels(tx: Tx, parcels: readonly MadeParcel[]): Promise<OutgoingParcel[]> {
  const spread: OutgoingParcel[] = [];
  for (const [target, own] of byTarget(parcels)) {
    spread.push(
      ...(await tx<OutgoingParcel[]>`
        select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
        from carillon.spread_parcels(${target}, ${own.map(({ id }) => id)}::bigint[]) order by ready_at, id`),
    );
  }
  return spread;
}

function byTarget(parcels: readonly MadeParcel[]): Map<number, MadeParcel[]> {
  const targets = new Map<number, MadeParcel[]>();
  for (const parcel of parcels) {
    if (parcel.rated === null) continue;
    const own = targets.get(parcel.rated);
    if (own === undefined) targets.set(parcel.rated, [parcel]);
    else own.push(parcel);
  }
  return targets;
}
