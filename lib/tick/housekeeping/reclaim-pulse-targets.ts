import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";
import { reclaimInSteps } from "./reclaim-in-steps.ts";

/** Deletes targets of pulses that no pulse has used for a day. */
export async function reclaimPulseTargets(
  { sql, log }: { sql: Sql; log: Log },
  timeIsUp: () => boolean,
): Promise<void> {
  const gone = await reclaimInSteps(timeIsUp, async (lookedMax) => {
    const [done] = await sql<{ looked: number; gone: number }[]>`
      select looked, gone from carillon.reclaim_pulse_targets(${lookedMax})`;
    return done;
  });
  if (gone > 0) log.info("tick.pulse-targets-reclaimed", { targets: gone });
}
