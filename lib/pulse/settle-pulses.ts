import type { Sql } from "../db/connect.ts";
import type { ClaimedPulses, PulsePlace } from "../parcel/claim.ts";
import { type Settled, type SettleRow, settledOf } from "../parcel/settle.ts";

/** How the pulses of a claimed parcel went. */
export interface PulsesWorked {
  /** Taken by their targets: by how many milliseconds late, and how many. */
  taken: readonly { lateMs: number; pulses: number }[];
  /** Not taken: of which target how many. They are tried again, from behind this place on, unless it was the last try. */
  failed: ReadonlyMap<number, number>;
  failedAfter: PulsePlace | null;
  /** Never to be taken. */
  refused: ReadonlyMap<number, number>;
  /** There was no time for those behind it; null where all were read. */
  rest: PulsePlace | null;
}

/** Settles a parcel of pulses, if the fence still holds. */
export async function settlePulses(
  sql: Sql,
  { id, fence }: Pick<ClaimedPulses, "id" | "fence">,
  { taken, failed, failedAfter, refused, rest }: PulsesWorked,
): Promise<Settled> {
  const all = taken.reduce((sum, { pulses }) => sum + pulses, 0);
  const rows = await sql<SettleRow[]>`
    select settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.settle_pulses(${id}, ${fence}, ${all},
      ${taken.map(({ lateMs }) => Math.floor(lateMs))}::int[], ${taken.map(({ pulses }) => pulses)}::bigint[],
      ${rest?.every ?? null}::int, ${rest?.schedule ?? null}::bigint, ${[...failed.keys()]}::int[], ${[...failed.values()]}::bigint[],
      ${failedAfter?.every ?? null}::int, ${failedAfter?.schedule ?? null}::bigint,
      ${[...refused.keys()]}::int[], ${[...refused.values()]}::bigint[])`;
  return settledOf(rows);
}
