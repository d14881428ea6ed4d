import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";

/** Cadences checked in one step, which is a transaction, and steps per tick. */
const lookedMax = 1_000;
const stepsMax = 5;

/**
 * Deletes cadences that no version uses any more. A tick checks a few thousand, however many there
 * are; the next one continues, and an hour after the end of a round a new one begins.
 */
export async function reclaimCadences(
  { sql, log }: { sql: Sql; log: Log },
  timeIsUp: () => boolean,
): Promise<void> {
  let gone = 0;
  for (let step = 0; step < stepsMax && !timeIsUp(); step++) {
    const [done] = await sql<{ looked: number; gone: number }[]>`
      select looked, gone from carillon.reclaim_cadences(${lookedMax})`;
    gone += done?.gone ?? 0;
    if ((done?.looked ?? 0) < lookedMax) break;
  }
  if (gone > 0) log.info("tick.cadences-reclaimed", { cadences: gone });
}
