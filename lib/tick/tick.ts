import type { Sql } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";
import type { Log } from "../log/log.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import { sweep, sweepMax } from "../parcel/sweep.ts";
import { releaseEndedHold } from "../plan/schedule-edits.ts";
import { shardCount } from "../plan/shard.ts";
import { Refusal } from "../refusal.ts";
import { endedHolds } from "../schedule/holds.ts";
import { attachDays, bringNear, dropDays, shardsToBringNear } from "./days.ts";
import { fireShardBatch } from "./shard-batch.ts";

export interface TickDeps {
  sql: Sql;
  queue: ParcelQueue;
  log: Log;
}

export interface TickSettings {
  /** Plan rows per transaction: larger is faster per row, smaller keeps edits of the shard waiting less. */
  batchMax: number;
  /** Shards worked on at once, each on a connection of its own. */
  lanes: number;
  retentionDays: number;
}

export const tickDefaults: TickSettings = { batchMax: 5_000, lanes: 2, retentionDays: 30 };

export interface Ticked {
  batches: number;
  jobs: number;
  parcels: number;
  finished: boolean;
}

/**
 * One tick: everything due until the horizon becomes jobs and parcels, shard by shard, batch by batch, until nothing is due
 * or time is nearly gone. It may run beside other ticks, be killed anywhere or come hours late: the jobs are the same.
 * One shard that fails does not keep the others from theirs; the tick then fails at its end, so that it is seen.
 */
export async function tick(
  { sql, queue, log }: TickDeps,
  settings: TickSettings,
  timeIsUp: () => boolean,
): Promise<Ticked> {
  const total: Ticked = { batches: 0, jobs: 0, parcels: 0, finished: true };
  const failures: unknown[] = [];
  const note = (error: unknown) => {
    failures.push(error);
  };
  // The line between near and far may only rise to days that are attached.
  const attached = await days(log, () => attachDays(sql)).catch(note);
  if (attached === true) {
    for (const shard of await shardsToBringNear(sql)) await bringAllNear(sql, shard, timeIsUp).catch(note);
  }
  const sending: Promise<void>[] = [];

  const fireShard = async (shard: number) => {
    for (let done = false; !done; ) {
      if (timeIsUp()) {
        total.finished = false;
        return;
      }
      const batch = await fireShardBatch(sql, shard, settings.batchMax);
      total.batches += 1;
      total.jobs += batch.jobs;
      total.parcels += batch.parcels.length;
      // Caught here: what fails while other batches are fired must not stay a rejection that nobody awaits yet.
      sending.push(handOver(sql, queue, batch.parcels).catch(note));
      done = batch.done;
    }
  };
  const shards = shardsInTurn();
  const lane = async () => {
    for (const shard of shards) await fireShard(shard).catch(note);
  };
  await Promise.all(Array.from({ length: settings.lanes }, lane));
  await Promise.all(sending);
  await sweepAll({ sql, queue, log }, timeIsUp).catch(note);
  await releaseEndedHolds({ sql, queue, log }, timeIsUp, note).catch(note);
  await days(log, async () => {
    const dropped = await dropDays(sql, settings.retentionDays);
    if (dropped.length > 0) log.info("tick.days-dropped", { days: dropped.join(" ") });
  }).catch(note);
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} parts of the tick failed: ${failures.map(String).join("; ")}`,
    );
  return total;
}

/** Every shard once, from a random one on, so that ticks side by side do not queue for the same locks. */
function shardsInTurn(): Iterator<number> & Iterable<number> {
  const first = Math.floor(Math.random() * shardCount);
  return Array.from({ length: shardCount }, (_, i) => (first + i) % shardCount).values();
}

async function bringAllNear(sql: Sql, shard: number, timeIsUp: () => boolean): Promise<void> {
  while ((await bringNear(sql, shard)) && !timeIsUp());
}

/** Attaching and dropping give up quickly where somebody holds a lock: the next minute tries again. */
async function days(log: Log, act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    const state = sqlState(error);
    if (state !== "lock_timeout" && state !== "deadlock") throw error;
    log.warn("tick.days-kept", { error: state });
    return false;
  }
}

async function sweepAll({ sql, queue, log }: TickDeps, timeIsUp: () => boolean): Promise<void> {
  for (let looked = sweepMax; looked === sweepMax && !timeIsUp(); ) {
    const swept = await sweep(sql, log);
    await handOver(sql, queue, swept.outgoing);
    looked = swept.looked;
  }
}

const releasedMax = 500;

/** Holds with an end let go by themselves, as their owner would. */
async function releaseEndedHolds(
  { sql, queue }: TickDeps,
  timeIsUp: () => boolean,
  note: (error: unknown) => void,
): Promise<void> {
  for (const { key, owner } of await endedHolds(sql, releasedMax)) {
    if (timeIsUp()) return;
    await releaseEndedHold({ sql, queue }, { key, owner }).catch((error: unknown) => {
      // Somebody has deleted the schedule since: its holds went with it.
      if (!(error instanceof Refusal && error.kind === "missing")) note(error);
    });
  }
}
