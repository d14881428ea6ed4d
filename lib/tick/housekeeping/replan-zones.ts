import { databaseClock } from "../../db/database-clock.ts";
import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";
import { asideOrNoted } from "../../quarantine/try-rows.ts";
import { coverageAt, isNewer, runtimeRules } from "../../rules/zone-data.ts";
import { dropOldZoneMoves } from "../../rules/zone-data-moves.ts";
import { replanForZones } from "../../rules/zone-data-replan.ts";
import {
  findZoneData,
  latestZoneUpdate,
  recordZoneData,
  type ZoneUpdate,
} from "../../rules/zone-data-updates.ts";

/**
 * Keeps the plan on the newest zone data of any runtime. Runtimes are updated on different days: an
 * older one leaves everything to newer ones. If nothing is new, this is one read of the newest of a
 * handful of rows.
 */
export async function replanZones(
  deps: EditDeps & { log: Log },
  /** The runtime's zone data release; null if unknown. */
  runtime: string | null,
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  if (runtime === null) return;
  const { sql, log } = deps;
  const latest = await latestZoneUpdate(sql);
  const isNew = latest === null || isNewer(runtime, latest.version) === true;
  const update = isNew ? await recordRuntime(deps, latest, runtime, timeIsUp) : latest;
  if (update?.version !== runtime || !update.open) return;
  const failed = asideOrNoted({ sql, log, consumer: "zone-replan" }, note);
  const done = await replanForZones(deps, update, { timeIsUp, failed });
  await dropOldZoneMoves(sql);
  if (done !== null)
    log.info("tick.zones-planned", { version: runtime, checked: done.checked, moved: done.moved });
}

/**
 * Records the runtime's zone data as the newest and returns what has changed. Null if another tick
 * has recorded a new release meanwhile, or time was up.
 */
export async function recordRuntime(
  { sql, log }: Pick<EditDeps, "sql"> & { log: Log },
  latest: ZoneUpdate | null,
  version: string,
  timeIsUp: () => boolean,
): Promise<ZoneUpdate | null> {
  const covers = coverageAt(await databaseClock(sql));
  const before = latest === null ? null : await findZoneData(sql, latest.version);
  const rules = await runtimeRules(Object.keys(before?.rules ?? {}), covers, timeIsUp);
  if (rules === null) return null;
  const update = await recordZoneData(sql, { version, ...covers, rules });
  if (update !== null)
    log.info("tick.zones-recorded", {
      version,
      from: latest?.version ?? null,
      zones: update.zones.join(" ").slice(0, 1_000),
    });
  return update;
}
