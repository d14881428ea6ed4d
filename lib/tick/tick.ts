import { auditRetention, jobRetention } from "../config/function-limits.ts";
import { errorText } from "../log/error-text.ts";
import { notifyByDefault } from "../parcel/settle.ts";
import { horizonMs } from "../plan/shard.ts";
import { fireShards, type MakeReady, makePulses, sendSpread } from "./fire/fire-shards.ts";
import { type ParcelSending, parcelSending } from "./fire/parcel-sending.ts";
import { backlogDefaults } from "./housekeeping/admit-backlog.ts";
import { bringAllNear } from "./housekeeping/bring-near.ts";
import { attach, finish, prepare } from "./housekeeping/housekeeping.ts";
import type { Run, TickDeps, Ticked, TickSettings } from "./run.ts";
import { shardsOf, wholeTick } from "./share.ts";

export const tickDefaults: TickSettings = {
  batchMax: 5_000,
  aheadMs: horizonMs,
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
 * One tick: everything due before the horizon becomes jobs and parcels, shard by shard and batch by
 * batch, until nothing is due or time is nearly up. It may run beside other ticks, be killed at any
 * point or run hours late: the jobs are the same. A failure does not stop the rest; the tick fails
 * at its end, so that the failure is reported.
 */
export async function tick(deps: TickDeps, settings: TickSettings, timeIsUp: () => boolean): Promise<Ticked> {
  const failures: unknown[] = [];
  const total: Ticked = { batches: 0, jobs: 0, parcels: 0, finished: true };
  const note = (error: unknown) => void failures.push(error);
  const run: Run = { ...deps, settings, timeIsUp, total, rated: [], note };
  const sending = parcelSending(run);
  // Work that is not per shard belongs to share 0.
  if (settings.share.share === 0) await tickWithHousekeeping(run, sending);
  else {
    await fireAll(run, shardsOf(settings.share), { sending });
    await sending.finish();
  }
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} parts of the tick failed: ${failures.map(errorText).join("; ")}`,
    );
  return total;
}

/**
 * Firing comes first: no other work or failure delays it. Jobs are made without waiting for
 * messages to be sent. The housekeeping waits for the messages, because those jobs are due soon.
 */
async function tickWithHousekeeping(run: Run, sending: ParcelSending): Promise<void> {
  const own = shardsOf(run.settings.share);
  const { now: began, behind, past } = await prepare(run);
  await fireAll(
    run,
    own.filter((shard) => !behind.includes(shard)),
    { sending },
  );
  const attached = await attach(run);
  const late = own.filter((shard) => behind.includes(shard));
  // The near line may only rise to days that are attached.
  const ready = async (shard: number) => {
    if (attached.now && (attached.past || !past.includes(shard))) await bringAllNear(run, shard);
  };
  if (late.length > 0) await fireAll(run, late, { sending, ready });
  await sending.finish();
  await finish(run, { attached, began });
}

async function fireAll(
  run: Run,
  shards: readonly number[],
  { sending, ready }: { sending: ParcelSending; ready?: MakeReady },
): Promise<void> {
  await fireShards(run, shards, { sending, ready });
  await makePulses(run, sending).catch(run.note);
  await sendSpread(run, sending).catch(run.note);
}
