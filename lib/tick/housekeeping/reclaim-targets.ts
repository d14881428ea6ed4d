import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";
import { asideAmong } from "../../quarantine/quarantine.ts";
import { tryInHalves } from "../../quarantine/try-rows.ts";
import { reclaimInSteps } from "./reclaim-in-steps.ts";

interface Deps {
  sql: Sql;
  log: Log;
}

/**
 * Marks targets that no schedule uses, and deletes those unused for a day. A target that fails is
 * set aside.
 */
export async function reclaimTargets({ sql, log }: Deps, timeIsUp: () => boolean): Promise<void> {
  const gone = await reclaimInSteps(timeIsUp, async (lookedMax) => {
    const [found] = await sql<{ looked: number; ids: number[] }[]>`
      select looked, ids from carillon.targets_to_reclaim(${lookedMax})`;
    return found && { looked: found.looked, gone: await reclaim({ sql, log }, found.ids, timeIsUp) };
  });
  if (gone > 0) log.info("tick.targets-reclaimed", { targets: gone });
}

/**
 * Deletes those of the found targets that are still unused, and returns their number. The next tick
 * continues where this one stops.
 */
async function reclaim(
  { sql, log }: Deps,
  found: readonly number[],
  timeIsUp: () => boolean,
): Promise<number> {
  if (found.length === 0) return 0;
  const aside = await asideAmong(sql, "unused-target", found.map(String));
  const rows = found
    .map((id) => ({ id, item: String(id), aside: aside.has(String(id)) }))
    .filter(({ item }) => aside.get(item)?.waits !== true);
  let gone = 0;
  await tryInHalves(
    { sql, log, consumer: "unused-target" },
    rows,
    async (part) => {
      const [done] = await sql<{ gone: number }[]>`
        select carillon.reclaim_targets(${part.map(({ id }) => id)}::int[]) as gone`;
      gone += done?.gone ?? 0;
    },
    timeIsUp,
  );
  return gone;
}
