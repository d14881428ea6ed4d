import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";

/**
 * Part of a statement that packs jobs: the few targets with limits, as `limits` (id, concurrency,
 * rate_count, rate_ms).
 */
export function targetLimits(tx: Tx): postgres.PendingQuery<postgres.Row[]> {
  return tx`
    limits as materialized (
      select id, concurrency, rate_count, rate_ms from carillon.targets where concurrency is not null or rate_count is not null
    )`;
}

/** A new parcel. */
export interface MadeParcel extends OutgoingParcel {
  /** The target, if it has a rate: its new parcels are spread over time before they are sent. */
  rated: number | null;
}

/**
 * Spreads new parcels of targets with a rate over the time that their jobs will take, so that each
 * arrives when it may start. Each target has its own transaction. Returns the parcels that were
 * spread. For the others the claim keeps the rate, at the cost of one more message each.
 */
export async function spreadParcels(tx: Tx, parcels: readonly MadeParcel[]): Promise<OutgoingParcel[]> {
  const spread: OutgoingParcel[] = [];
  for (const [target, own] of byTarget(parcels)) {
    const groups = new Map(own.map(({ id, group }) => [id, group]));
    const ready = await tx<OutgoingParcel[]>`
        select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
        from carillon.spread_parcels(${target}, ${own.map(({ id }) => id)}::bigint[]) order by ready_at, id`;
    spread.push(...ready.map((parcel) => ({ ...parcel, group: groups.get(parcel.id) })));
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
