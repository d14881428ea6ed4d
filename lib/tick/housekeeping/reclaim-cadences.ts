import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";
import { reclaimInSteps } from "./reclaim-in-steps.ts";

/** Deletes cadences that no version uses any more. */
export async function reclaimCadences(
  { sql, log }: { sql: Sql; log: Log },
  timeIsUp: () => boolean,
): Promise<void> {
  const gone = await reclaimInSteps(timeIsUp, async (lookedMax) => {
    const [done] = await sql<{ looked: number; gone: number }[]>`
      select looked, gone from carillon.reclaim_cadences(${lookedMax})`;
    return done;
  });
  if (gone > 0) log.info("tick.cadences-reclaimed", { cadences: gone });
}
