import type { Tx } from "../db/connect.ts";
import type { Amount } from "./standing.ts";

/**
 * Rows that one answer adds to the rolled-up counts. A tick leaves fewer; more of them pile up only
 * while ticks are missing.
 */
const freshMax = 100_000;

/** SQL: the tallies that no tick has rolled up yet. */
export const freshTallies = (tx: Tx) => tx`select * from carillon.tallies limit ${freshMax}::int`;

/** How fresh the rolled-up part of the counts is. */
export interface Freshness {
  /** When a tick last rolled up. */
  rolledUpAt: Date | null;
  /** Rows that are not rolled up yet. They are counted too; with `more`, only these. */
  pending: Amount;
}

export async function readFreshness(tx: Tx): Promise<Freshness> {
  const [row] = await tx<{ rolledUpAt: Date | null; pending: number }[]>`
    select (select rolled_up_at from carillon.schedule_counts) as "rolledUpAt",
      (select count(*)::int from (select from carillon.tallies limit ${freshMax + 1}::int) t) as pending`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  const { rolledUpAt, pending } = row;
  return { rolledUpAt, pending: { count: Math.min(pending, freshMax), more: pending > freshMax } };
}
