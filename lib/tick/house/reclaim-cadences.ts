import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";

/** The most cadences that one step looks at, in one transaction, and the most steps of a tick. */
const lookedMax = 1_000;
const stepsMax = 5;

/**
 * Deletes cadences that no version names any more. A tick looks at some thousands, however many there are; the next goes on from there, and an hour after
 * the last of them a new round begins.
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
