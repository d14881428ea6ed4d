import type { Sql, Tx } from "../../db/connect.ts";
import { errorText } from "../../log/error-text.ts";
import type { Log } from "../../log/log.ts";
import { type Metrics, noMetrics } from "../../log/metrics.ts";
import { archiveLagMs } from "../../retention/archive-lag.ts";
import { readStanding } from "../../stats/standing.ts";
import type { RolledUp } from "../rolled-up.ts";

/** Set if days of jobs are archived before they are dropped. */
export interface ArchiveWatch {
  retentionDays: number;
}

/**
 * Writes one line of metrics per tick. A failure here does not fail a tick that has done its work.
 */
export async function measureTick(
  { sql, log, metrics }: { sql: Sql; log: Log; metrics: Metrics },
  {
    rolledUp,
    ms,
    archive = null,
  }: { rolledUp: RolledUp | undefined; ms: number; archive?: ArchiveWatch | null },
): Promise<void> {
  if (metrics === noMetrics) return;
  const counts =
    rolledUp === undefined
      ? {}
      : {
          Fired: rolledUp.fired,
          Missed: rolledUp.missed,
          Skipped: rolledUp.skipped,
          Cancelled: rolledUp.cancelled,
          PulsesLost: rolledUp.pulsesLost,
          PulseSecondsPassed: rolledUp.pulseSecondsPassed,
        };
  try {
    const { now, due, oldestDueAt, parcels, backlog, dead, quarantined, plannedTo } = await readStanding(sql);
    const openMs = await oldestTransactionMs(sql);
    if (openMs === null) log.warn("tick.transactions-hidden");
    const lag = archive === null ? {} : { ArchiveLagMs: await archiveLagMs(sql, archive.retentionDays) };
    metrics.write({
      ...counts,
      TickMs: ms,
      DueJobs: due,
      OldestDueMs: oldestDueAt === null ? 0 : now.getTime() - oldestDueAt.getTime(),
      OpenParcels: parcels.count,
      Backlog: backlog.count,
      DeadStanding: dead.count,
      Quarantined: quarantined.count,
      ...(openMs === null ? {} : { OldestTransactionMs: openMs }),
      PlanLagMs: Math.max(0, now.getTime() - plannedTo.getTime()),
      ...lag,
    });
  } catch (error) {
    log.warn("tick.unmeasured", { error: errorText(error) });
    metrics.write({ ...counts, TickMs: ms });
  }
}

/**
 * Age of the oldest open transaction of any role; null if the owner of the tables may not see other
 * roles' transactions.
 */
export async function oldestTransactionMs(sql: Tx): Promise<number | null> {
  const [row] = await sql<{ ms: string | null }[]>`select carillon.oldest_transaction_ms() as ms`;
  return row?.ms == null ? null : Number(row.ms);
}
