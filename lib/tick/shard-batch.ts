import type { Timing } from "../clock.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { lockPlan } from "../db/locks.ts";
import { sqlState } from "../db/sql-state.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { type Fired, fire } from "../plan/fire.ts";
import { fireRelease } from "../plan/release.ts";
import { greatestSchedule, horizonMs, readShard, type ShardState } from "../plan/shard.ts";
import { beyondWatermark, lookAhead, type Place } from "./look-ahead.ts";

export interface Batch extends Fired {
  /** True when the shard is planned up to the horizon. */
  done: boolean;
  shard: number;
  /** When it began, the shard was planned so far ahead. */
  aheadMs: number;
}

/**
 * One batch of one shard. A job is written without asking whether it exists, which costs half as much; where one does, because an edit
 * planned its occurrence again, the whole batch is done anew with the question.
 */
export async function fireShardBatch(
  sql: Sql,
  shard: number,
  batchMax: number,
  timing: Timing,
): Promise<Batch> {
  try {
    return await fireTimed(sql, shard, timing, { batchMax, someExist: false });
  } catch (error) {
    if (sqlState(error) !== "unique_violation") throw error;
    return fireTimed(sql, shard, timing, { batchMax, someExist: true });
  }
}

/**
 * A batch of thousands is written and committed for half a second and more after the waits of its parcels could have been told: they are
 * counted from when the shard was read, less what has passed since.
 */
async function fireTimed(sql: Sql, shard: number, timing: Timing, wish: BatchWish): Promise<Batch> {
  let readAt = timing.now();
  const batch = await fireOnce(sql, shard, wish, () => {
    readAt = timing.now();
  });
  const sinceMs = timing.now() - readAt;
  return {
    ...batch,
    parcels: batch.parcels.map((parcel) => ({ ...parcel, waitMs: parcel.waitMs - sinceMs })),
  };
}

interface BatchWish {
  batchMax: number;
  someExist: boolean;
}

/**
 * In one transaction: plan lock, then the watermark and the clock, then the cron cadences, then everything else in one statement, then
 * the watermark. The lock is a statement of its own: read together with it, the watermark would come from before the lock, and what
 * another tick has just done would be done over or passed over.
 */
function fireOnce(
  sql: Sql,
  shard: number,
  { batchMax, someExist }: BatchWish,
  /** Called as soon as the clock has been read with the shard. */
  onRead: () => void,
): Promise<Batch> {
  return sql.begin(async (tx) => {
    const [, state] = await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);
    onRead();
    // Never past the near plan: what is due beyond it may still wait in the far table, and the watermark would pass it over.
    const horizon = new Date(Math.min(state.now.getTime() + horizonMs, state.nearUntil.getTime() - 1));
    const aheadMs = state.watermarkAt.getTime() - state.now.getTime();
    const nothing = { shard, aheadMs, jobs: 0, parcels: [], done: true };
    if (isReached(state, horizon)) return nothing;
    const { rows, unfolded, releases, somePassed, done, last } = await lookAhead(
      tx,
      state,
      horizon,
      batchMax,
    );
    // Most shards of a small installation have nothing due in most minutes, and planning the statement below is what then costs.
    if (rows === 0) {
      await raiseWatermark(tx, shard, last, horizon);
      return nothing;
    }
    const released: OutgoingParcel[] = [];
    for (const schedule of releases)
      released.push(...(await fireRelease(tx, state, schedule, schedule.version)).parcels);
    const [, fired] = await Promise.all([
      // What is due now is mostly newer than the planner's statistics: it expects one row, and would go through all instants for each.
      tx`select set_config('enable_nestloop', 'off', true)`.execute(),
      fire(tx, {
        source: tx`select due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, governed is not null as own,
            ${horizon}::timestamptz as bound
          from carillon.plan where ${beyondWatermark(tx, state, last)} order by schedule_id`,
        shard,
        now: state.now,
        nearUntil: state.nearUntil,
        unfolded,
        somePassed,
        someExist,
        waitsFrom: state.now,
      }),
      raiseWatermark(tx, shard, last, horizon),
    ]);
    return {
      ...fired,
      parcels: [...fired.parcels, ...released.map((parcel) => ({ ...parcel, rated: null }))],
      shard,
      aheadMs,
      done,
    };
  });
}

/** The watermark is a pair: a batch may have ended between two schedules that are due at the horizon itself. */
function isReached({ watermarkAt, watermarkSchedule }: ShardState, horizon: Date): boolean {
  return watermarkAt > horizon || (watermarkAt >= horizon && watermarkSchedule === greatestSchedule);
}

async function raiseWatermark(tx: Tx, shard: number, to: Place, reached: Date): Promise<void> {
  await tx`
    update carillon.shards
    set watermark_at = ${to.dueAt}, watermark_schedule = ${to.schedule}, reached_at = greatest(reached_at, ${reached})
    where id = ${shard}`;
}
