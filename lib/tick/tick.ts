import { auditRetention, jobRetention } from "../config/function-limits.ts";
import { errorText } from "../log/error-text.ts";
import { notifyByDefault } from "../parcel/settle.ts";
import { backlogDefaults } from "./admit-backlog.ts";
import { fireShards, makePulses, sendSpread } from "./fire-shards.ts";
import { finish, prepare } from "./keep-house.ts";
import type { Run, TickDeps, Ticked, TickSettings } from "./run.ts";
import { wholeTick } from "./share.ts";

export const tickDefaults: TickSettings = {
  batchMax: 5_000,
  lanes: 2,
  pressingMs: 60_000,
  retentionDays: jobRetention.byDefault,
  archives: false,
  auditRetentionDays: auditRetention.byDefault,
  backlogBudget: backlogDefaults.budget,
  backlogPerTurn: backlogDefaults.perTurn,
  zoneData: process.versions["tz"] ?? null,
  notify: notifyByDefault,
  canary: null,
  share: wholeTick,
};

/**
 * One tick: everything due until the horizon becomes jobs and parcels, shard by shard, batch by batch, until nothing is due
 * or time is nearly gone. It may run beside other ticks, be killed anywhere or come hours late: the jobs are the same.
 * What fails does not keep the rest from being done; the tick then fails at its end, so that it is seen.
 */
export async function tick(deps: TickDeps, settings: TickSettings, timeIsUp: () => boolean): Promise<Ticked> {
  const failures: unknown[] = [];
  const total: Ticked = { batches: 0, jobs: 0, parcels: 0, finished: true };
  const note = (error: unknown) => void failures.push(error);
  const run: Run = { ...deps, settings, timeIsUp, total, rated: [], note };
  // What is there once, and not by shard, is share 0's: done by each it would be done many times for nothing.
  const keepsHouse = settings.share.share === 0;
  const attached = keepsHouse ? await prepare(run) : null;
  await fireShards(run);
  await makePulses(run).catch(run.note);
  await sendSpread(run).catch(run.note);
  if (attached !== null) await finish(run, attached);
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} parts of the tick failed: ${failures.map(errorText).join("; ")}`,
    );
  return total;
}
