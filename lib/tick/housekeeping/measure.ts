import type { Sql, Tx } from "../../db/connect.ts";
import { errorText } from "../../log/error-text.ts";
import type { Log } from "../../log/log.ts";
import { type Metrics, noMetrics } from "../../log/metrics.ts";
import { readUnfinishedMoves } from "../../move/unfinished-moves.ts";
import { nearQuotas } from "../../quota/near-quotas.ts";
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
      ...(await quotasAt({ sql, log }, now)),
      ...(await movesAt({ sql, log }, now)),
      ...lag,
    });
  } catch (error) {
    log.warn("tick.unmeasured", { error: errorText(error) });
    metrics.write({ ...counts, TickMs: ms });
  }
}

/** Minutes between two looks at the quotas: reading those of all prefixes costs more than the rest. */
const quotaMinutes = 10;
/** The most lines that one look logs. The metric has the fullest quota in any case. */
const nearLogged = 20;

async function quotasAt(
  { sql, log }: { sql: Sql; log: Log },
  now: Date,
): Promise<{ QuotaUsedPercent?: number }> {
  const minute = Math.floor(now.getTime() / 60_000);
  if (minute % quotaMinutes !== 0) return {};
  const { fullest, near } = await nearQuotas(sql, minute / quotaMinutes);
  for (const each of near.slice(0, nearLogged)) log.warn("quota.near", { ...each });
  return { QuotaUsedPercent: fullest };
}

/**
 * Schedules arrive within seconds, and `carillon move` waits ten minutes for a job that runs: a move that
 * has kept schedules for longer has ended too early.
 */
const moveUnfinishedMs = 15 * 60_000;

async function movesAt(
  { sql, log }: { sql: Sql; log: Log },
  now: Date,
): Promise<{ UnfinishedMoves?: number }> {
  const moves = await readUnfinishedMoves(sql, new Date(now.getTime() - moveUnfinishedMs));
  for (const { prefix, peer, away, stopped } of moves)
    log.error("tick.move-unfinished", { prefix, peer, away, stopped });
  return moves.length === 0 ? {} : { UnfinishedMoves: moves.length };
}

/**
 * Age of the oldest open transaction of any role; null if the owner of the tables may not see other
 * roles' transactions.
 */
export async function oldestTransactionMs(sql: Tx): Promise<number | null> {
  const [row] = await sql<{ ms: string | null }[]>`select carillon.oldest_transaction_ms() as ms`;
  return row?.ms == null ? null : Number(row.ms);
}
