import { isOfTheSchema, sqlState } from "../../db/sql-state.ts";
import { spreadParcels } from "../../limit/target-limits.ts";
import { logSetAside } from "../../quarantine/quarantine.ts";
import type { Run } from "../run.ts";
import { inTurn } from "../share.ts";
import { passIdleShards } from "./idle-shards.ts";
import { makePulseParcels } from "./make-pulse-parcels.ts";
import type { ParcelSending } from "./parcel-sending.ts";
import { BatchFailed, fireShardBatch, passFailedRow } from "./shard-batch.ts";

/** What has to be done before a shard can be fired; it never fails. */
export type MakeReady = (shard: number) => Promise<void>;

/**
 * Lanes side by side, each taking shard after shard. Ticks are two minutes ahead of what is due: while nothing presses, one lane goes alone, and
 * leaves the database's other processors to those who claim and settle what is due now.
 */
export async function fireShards(
  run: Run,
  own: readonly number[],
  { sending, ready }: { sending: ParcelSending; ready?: MakeReady | undefined },
): Promise<void> {
  const idle = ready === undefined ? await passIdle(run, own) : new Set();
  const shards = inTurn(own.filter((shard) => !idle.has(shard)));
  const lanes: Promise<void>[] = [];
  const locked: { shard: number; error: unknown }[] = [];
  const lane = async () => {
    for (const shard of shards) {
      await ready?.(shard);
      await fireShard(run, shard, sending, press).catch((error: unknown) => {
        if (sqlState(error) === "lock_timeout") locked.push({ shard, error });
        else run.note(error);
      });
    }
  };
  const press = () => {
    while (lanes.length < run.settings.lanes) lanes.push(lane());
  };
  lanes.push(lane());
  // More may come while the first are awaited.
  for (const each of lanes) await each;
  // An edit had the plan lock of the shard for longer than the tick waits. By now it may have ended, and the next tick is a minute away.
  for (const { shard, error } of locked) {
    if (run.timeIsUp()) run.note(error);
    else await fireShard(run, shard, sending, press).catch(run.note);
  }
}

/** Where that fails each shard is fired by itself, idle or not. */
async function passIdle(run: Run, shards: readonly number[]): Promise<ReadonlySet<number>> {
  try {
    return await passIdleShards(run.sql, shards);
  } catch (error) {
    run.note(error);
    return new Set();
  }
}

/**
 * Batch after batch of one shard. A batch that fails on its rows is begun again with an eighth of them, until the row at fault stands alone and
 * is set aside. Batches that succeed double up to their usual size, but only behind the rows of the batch that failed: a larger one among them
 * would meet the row at fault again, and a row may hang for as long as a statement may take.
 */
async function fireShard(run: Run, shard: number, sending: ParcelSending, press: () => void): Promise<void> {
  const { sql, settings, total } = run;
  let size = settings.batchMax;
  /** Rows to come among which one is at fault. */
  let suspect = 0;
  for (let done = false; !done; ) {
    if (run.timeIsUp()) {
      total.finished = false;
      return;
    }
    const batch = await fireShardBatch(sql, shard, size, run.queue.timing, run.cpu && { cpu: run.cpu }).catch(
      (error: unknown) => {
        if (!(error instanceof BatchFailed)) throw error;
        return error;
      },
    );
    if (batch instanceof BatchFailed) {
      if (size === 1) refuseMore(run, batch.cause);
      if (size === 1) logSetAside(run.log, "plan", await passFailedRow(sql, shard, batch));
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

/** While a tick has made no job, it sets at most this many rows aside for a failure that may be the same for all rows. */
const asideMax = 10;

/** A right or a table that is missing for a minute would set every due schedule aside, and each would wait for up to an hour afterwards. */
function refuseMore(run: Run, cause: unknown): void {
  if (run.total.jobs > 0 || !isOfTheSchema(cause)) return;
  const refused = (run.refused ?? 0) + 1;
  run.refused = refused;
  if (refused > asideMax) throw cause;
}

export async function makePulses(run: Run, { send }: ParcelSending): Promise<void> {
  run.total.parcels += await makePulseParcels(run, run.settings.share, send);
}

/** What goes to targets with a rate, of all shards together. Should this tick die before, the sweep sends it as it is. */
export async function sendSpread({ sql, rated }: Run, { send }: ParcelSending): Promise<void> {
  const made = rated.splice(0);
  if (made.length > 0) send(await spreadParcels(sql, made));
}
