import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../lib/db/connect.ts";

/** A minute without progress; a slow machine still makes some within it. */
const stillLooks = 600;

/**
 * Polls until `isOver` returns true, for as long as the machine needs. Gives up when for a minute
 * no job that was due by `end` has ended; the judge then reports what is stuck.
 */
export async function whileItMoves(sql: Sql, end: Date, isOver: (waiting: number) => Promise<boolean>) {
  let fewest = Number.POSITIVE_INFINITY;
  for (let still = 0; still < stillLooks; still++) {
    await pause(100);
    const [row] = await sql<{ waiting: number }[]>`
      select count(*)::int as waiting from carillon.jobs where state = 'waiting' and due_at <= ${end}`;
    if (row === undefined) throw new Error("A count has one row.");
    if (await isOver(row.waiting)) return;
    if (row.waiting < fewest) still = 0;
    fewest = Math.min(fewest, row.waiting);
  }
}

/** Waits until no job that was due by `end` is waiting. */
export function untilSettled(sql: Sql, end: Date): Promise<void> {
  return whileItMoves(sql, end, async (waiting) => waiting === 0);
}
