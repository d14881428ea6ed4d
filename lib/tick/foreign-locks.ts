import type { Timing } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { type ForeignLock, holderName, lockNames, readForeignLocks } from "../db/foreign-locks.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { Metrics } from "../log/metrics.ts";

/** A lock that is held for less delays Carillon as little as one of its own. */
export const heldMs = 3_000;

/**
 * Reports sessions of other programs that hold Carillon's locks at both of two looks. The second look
 * comes only after one that found some, so a tick usually makes one. It runs beside the tick's work,
 * which these locks may stop, and never rejects.
 */
export async function reportForeignLocks({
  sql,
  log,
  metrics,
  timing,
}: {
  sql: Sql;
  log: Log;
  metrics: Metrics;
  timing: Timing;
}): Promise<void> {
  try {
    const first = await readForeignLocks(sql);
    if (first.length === 0) return;
    await timing.sleep(heldMs);
    const kept = stillHeld(first, await readForeignLocks(sql));
    if (kept.length === 0) return;
    metrics.write({ ForeignLocks: kept.length });
    for (const { pid, prepared, user, openMs, ...held } of kept)
      log.error("tick.foreign-locks", { user, locks: lockNames(held), pid, prepared, openMs });
  } catch (error) {
    log.warn("tick.locks-unread", { error: errorText(error) });
  }
}

const stillHeld = (before: readonly ForeignLock[], after: readonly ForeignLock[]): ForeignLock[] => {
  const seen = new Set(before.map(holderName));
  return after.filter((each) => seen.has(holderName(each)));
};
