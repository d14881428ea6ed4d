import type { Sql } from "../db/connect.ts";
import { fewSchedules, type JobOwners } from "../history/find-schedules.ts";
import { probed, probesOf } from "./ledger-probes.ts";
import { sumsBySteps } from "./ledger-sums.ts";
import { stopOf, type WalkedMost, walked, walkedMost } from "./ledger-walk.ts";
import type { OutcomesByStep } from "./outcomes.ts";
import type { LedgerPlace } from "./series-place.ts";
import type { Range } from "./series-steps.ts";

/** Up to this many schedules are listed before the walk; of so few, jobs are looked up one by one. */
const listedMax = 10_000;
const probedMax = 20;

export interface LedgerPart {
  steps: OutcomesByStep;
  /** The time that the part covers, unless it stops before. */
  range: Range;
  /** The place at which it stopped: its step, and all before it, are not complete. */
  stop: LedgerPlace | null;
}

export interface LedgerSearch {
  range: Range;
  /** The place in the newest step at which the part before stopped. */
  place: LedgerPlace | null;
  stepMs: number;
  most?: WalkedMost | undefined;
}

/**
 * Outcomes by the step of their occurrence, newest first, of the schedules that match. One call reads
 * a bounded part of the ledger. Where it stops depends on how many jobs there are, of all schedules.
 */
export async function ledgerBySteps(
  sql: Sql,
  owners: JobOwners,
  { range, place, stepMs, most = walkedMost }: LedgerSearch,
): Promise<LedgerPart> {
  const ids = await fewSchedules(sql, owners, { named: listedMax, found: listedMax });
  if (ids?.length === 0) return { steps: new Map(), range, stop: null };
  // Computed outside of the transaction: a far cron may take many steps.
  const probes =
    place === null && ids !== null && ids.length <= probedMax
      ? await probesOf(sql, ids, range, stepMs)
      : null;
  return sql.begin(async (tx) => {
    // Estimates of recent rows are far too low: a nested loop would compare each job with each
    // schedule, and a bitmap would be filled with a whole day. Lookups by id stay nested loops,
    // because nothing else can do them.
    await tx`
      select set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
        set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`;
    if (probes !== null)
      return { steps: await sumsBySteps(tx, probed(tx, probes), stepMs), range: probes.range, stop: null };
    const stretch = { range, place };
    const stop = await stopOf(tx, stretch, ids === null ? most.unlisted : most.listed);
    const rows = walked(tx, { owners, ids }, stretch, stop);
    return { steps: await sumsBySteps(tx, rows, stepMs), range, stop };
  }, "isolation level repeatable read");
}
