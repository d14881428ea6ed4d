import type { Sql } from "../db/connect.ts";
import type { ClaimedPulses, PulsePlace } from "../parcel/claim.ts";
import { type Settled, type SettleRow, settledOf } from "../parcel/settle.ts";

/** The result of the pulses of a claimed parcel. */
export interface PulsesWorked {
  /** Pulses that their targets took: their lateness in milliseconds, and how many had it. */
  taken: readonly { lateMs: number; pulses: number }[];
  /**
   * How many pulses were not taken, by target. They are tried again from `failedAfter` on, unless
   * this was the last attempt.
   */
  failed: ReadonlyMap<number, number>;
  failedAfter: PulsePlace | null;
  /** How many pulses are given up because their targets will never take them, by target. */
  refused: ReadonlyMap<number, number>;
  /** The position at which the time was up; null if all were read. */
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
