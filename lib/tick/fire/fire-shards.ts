import { isOfTheSchema, sqlState } from "../../db/sql-state.ts";
import { spreadParcels } from "../../limit/target-limits.ts";
import { logSetAside } from "../../quarantine/quarantine.ts";
import type { Run } from "../run.ts";
import { inTurn } from "../share.ts";
import { passIdleShards } from "./idle-shards.ts";
import { makePulseParcels } from "./make-pulse-parcels.ts";
import type { ParcelSending } from "./parcel-sending.ts";
import { BatchFailed, fireShardBatch, passFailedRow } from "./shard-batch.ts";

/** Prepares a shard for firing; never fails. */
export type MakeReady = (shard: number) => Promise<void>;

/**
 * Fires shards. A tick makes jobs at least two minutes before they are due. While the plan is not
 * behind, one shard is fired at a time, which leaves the database's other processors to claims and
 * settles of due jobs. When it is behind, `settings.lanes` shards are fired side by side.
 */
export async function fireShards(
  run: Run,
  own: readonly number[],
  { sending, ready }: { sending: ParcelSending; ready?: MakeReady | undefined },
): Promise<void> {
  const idle = ready === undefined ? await passIdle(run, own) : new Set();
  const shards = inTurn(own.filter((shard) => !idle.has(shard)));
  const runners: Promise<void>[] = [];
  const locked: { shard: number; error: unknown }[] = [];
  const runner = async () => {
    for (const shard of shards) {
      await ready?.(shard);
      await fireShard(run, shard, sending, press).catch((error: unknown) => {
        if (sqlState(error) === "lock_timeout") locked.push({ shard, error });
        else run.note(error);
      });
    }
  };
  const press = () => {
    while (runners.length < run.settings.lanes) runners.push(runner());
  };
  runners.push(runner());
  // `press` may add to this list while its first entry is awaited.
  for (const each of runners) await each;
  // An edit held the plan lock of the shard for longer than the tick waits. It may have ended by
  // now, and the next tick is a minute away.
  for (const { shard, error } of locked) {
    if (run.timeIsUp()) run.note(error);
    else await fireShard(run, shard, sending, press).catch(run.note);
  }
}

/**
 * Raises the watermarks of idle shards and returns these shards. If that fails, it returns none,
 * and each shard is fired by itself, idle or not.
 */
async function passIdle(run: Run, shards: readonly number[]): Promise<ReadonlySet<number>> {
  try {
    return await passIdleShards(run.sql, shards, run.settings.aheadMs);
  } catch (error) {
    run.note(error);
    return new Set();
  }
}

/**
 * Fires one shard, batch by batch. A batch that fails on its rows is retried with an eighth of
 * them, until the failing row is alone and is set aside. After successes, batches double up to
 * their usual size, but only behind the rows of the failed batch: a larger batch among those would
 * meet the failing row again, and a row may hang until the statement's time limit.
 */
async function fireShard(run: Run, shard: number, sending: ParcelSending, press: () => void): Promise<void> {
  const { sql, settings, total } = run;
  const bounds = { aheadMs: settings.aheadMs, ...(run.cpu && { cpu: run.cpu }) };
  let size = settings.batchMax;
  /** Number of coming rows that include the failing one. */
  let suspect = 0;
  for (let done = false; !done; ) {
    if (run.timeIsUp()) {
      total.finished = false;
      return;
    }
    const batch = await fireShardBatch(sql, shard, size, run.queue.timing, bounds).catch((error: unknown) => {
      if (!(error instanceof BatchFailed)) throw error;
      return error;
    });
    if (batch instanceof BatchFailed) {
      if (size === 1) refuseMore(run, batch.cause);
      if (size === 1) logSetAside(run.log, "plan", await passFailedRow(sql, shard, batch, settings.aheadMs));
      suspect = size === 1 ? 0 : batch.rows;
      size = Math.max(1, Math.floor(batch.rows / 8));
      continue;
    }
    suspect -= batch.rows;
    if (suspect <= 0) size = Math.min(settings.batchMax, size * 2);
    if (batch.aheadMs < settings.pressingMs) press();
    total.batches += 1;
    total.jobs += batch.jobs;
    total.parcels += batch.parcels.length;
    logSetAside(run.log, "plan", batch.setAside);
    sending.add(batch.parcels.filter(({ rated }) => rated === null));
    run.rated.push(...batch.parcels.filter(({ rated }) => rated !== null));
    done = batch.done;
  }
}

/**
 * While a tick has made no job, it sets at most this many rows aside for a failure that may affect
 * all rows.
 */
const asideMax = 10;

/**
 * Throws once more than `asideMax` rows of this tick have failed for a missing right, table or
 * function, and no job was made. One that is missing for a minute would otherwise set every due
 * schedule aside, and each would wait up to an hour afterwards.
 */
function refuseMore(run: Run, cause: unknown): void {
  if (run.total.jobs > 0 || !isOfTheSchema(cause)) return;
  const refused = (run.refused ?? 0) + 1;
  run.refused = refused;
  if (refused > asideMax) throw cause;
}

export async function makePulses(run: Run, { send }: ParcelSending): Promise<void> {
  run.total.parcels += await makePulseParcels(run, run.settings.share, send);
}

/**
 * Sends the parcels for targets with a rate, of all shards together. If the tick dies before, the
 * sweep sends them unspread.
 */
export async function sendSpread({ sql, rated }: Run, { send }: ParcelSending): Promise<void> {
  const made = rated.splice(0);
  if (made.length > 0) send(await spreadParcels(sql, made));
}
