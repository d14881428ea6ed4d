import { isDeepStrictEqual } from "node:util";
import { systemTiming, type Timing } from "../../clock.ts";
import { boundStatements } from "../../db/bounded.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import { ConnectionLost } from "../../db/connection-lost.ts";
import { lockPlan } from "../../db/locks.ts";
import { sqlState } from "../../db/sql-state.ts";
import { errorText } from "../../log/error-text.ts";
import { type Fired, fire } from "../../plan/fire.ts";
import { fireReleases } from "../../plan/release.ts";
import { greatestSchedule, horizonMs, readShard, type ShardState } from "../../plan/shard.ts";
import { tooLongFor } from "../../plan/unfolding-time.ts";
import { mayBeOfARow } from "../../quarantine/in-halves.ts";
import type { SetAside } from "../../quarantine/quarantine.ts";
import { beyondWatermark, firstRows, lookAhead, type Place, type PlanRow } from "./look-ahead.ts";
import { setAllAside, setRowsAside } from "./rows-aside.ts";

export interface Batch extends Fired {
  /** The number of plan rows that the batch has taken. */
  rows: number;
  /** Schedules that could not be planned, and are in quarantine. */
  setAside: SetAside[];
  /** True when the shard is planned up to the horizon. */
  done: boolean;
  shard: number;
  /** How far ahead the shard was planned when the batch began. */
  aheadMs: number;
}

/**
 * A usual batch takes half a second. A batch that hangs on a row for this long is retried with
 * fewer rows. All attempts until that row is alone fit into one tick; with the role's statement
 * limit of 40 s they would not.
 */
const statementMs = 8_000;

export interface BatchBounds {
  /** Clock for measuring how long a batch computes. */
  cpu?: () => number;
  /** Time limit of a statement. */
  mostMs?: number;
  /** How far ahead of now jobs are made. */
  aheadMs?: number;
}

/**
 * Runs one batch of one shard. Jobs are inserted without `on conflict`, which halves the cost. If a
 * job exists, because an edit planned its occurrence again, the whole batch is retried with it.
 */
export async function fireShardBatch(
  sql: Sql,
  shard: number,
  batchMax: number,
  timing: Timing,
  { cpu = systemTiming.now, mostMs = statementMs, aheadMs = horizonMs }: BatchBounds = {},
): Promise<Batch> {
  const params = { batchMax, cpu, mostMs, aheadMs };
  try {
    return await fireTimed(sql, shard, timing, { ...params, someExist: false });
  } catch (error) {
    if (!(error instanceof BatchFailed) || sqlState(error.cause) !== "unique_violation") throw error;
    return fireTimed(sql, shard, timing, { ...params, someExist: true });
  }
}

/** The batch was read and failed on its rows, so a smaller batch may succeed. */
export class BatchFailed extends Error {
  override readonly name = "BatchFailed";
  /** The number of plan rows that the batch took. At least one of them is at fault. */
  readonly rows: number;
  /** If the batch was limited to one row: that row and the rows that tie with it. */
  readonly first: readonly PlanRow[];

  constructor(cause: unknown, rows: number, first: readonly PlanRow[]) {
    super(`A batch of a shard failed: ${errorText(cause)}`, { cause });
    this.rows = rows;
    this.first = first;
  }
}

/** State of a batch while it runs. */
interface ReadBatch {
  /** When the shard was read, together with the clock. */
  at: number;
  /** The number of rows; the limit until they are counted. */
  rows: number;
  /**
   * Null until the shard was read. If the batch is limited to one row: that row and the rows that
   * tie with it.
   */
  first: readonly PlanRow[] | null;
}

/**
 * Corrects the waits of parcels: writing and committing a batch of thousands takes half a second
 * and more. Waits are counted from when the shard was read, less the time since.
 */
async function fireTimed(sql: Sql, shard: number, timing: Timing, params: BatchParams): Promise<Batch> {
  const read: ReadBatch = { at: timing.now(), rows: params.batchMax, first: null };
  const batch = await fireOnce(sql, shard, params, timing, read).catch((error: unknown) => {
    // If the shard was not read yet, it was locked or the database did not answer, and no row is at
    // fault. Nor is one if the batch has no rows.
    const { first, rows } = read;
    throw first !== null && rows > 0 && isOfItsRows(error, params)
      ? new BatchFailed(error, rows, first)
      : error;
  });
  const sinceMs = timing.now() - read.at;
  return {
    ...batch,
    parcels: batch.parcels.map((parcel) => ({ ...parcel, waitMs: parcel.waitMs - sinceMs })),
  };
}

/**
 * Whether the rows may be at fault. The server may end a transaction that exceeds its limits, which
 * the driver sees only as a lost connection. For a single row that is not taken as its fault.
 */
function isOfItsRows(error: unknown, { batchMax }: BatchParams): boolean {
  return mayBeOfARow(error) || (error instanceof ConnectionLost && batchMax > 1);
}

interface BatchParams extends Required<BatchBounds> {
  batchMax: number;
  someExist: boolean;
}

/**
 * One transaction: plan lock, then the watermark and the clock, then the cadences, then everything
 * else in one statement, then the watermark. The lock is a statement of its own: read together with
 * it, the watermark would be from before the lock, and the work of another tick would be repeated
 * or skipped.
 */
function fireOnce(
  sql: Sql,
  shard: number,
  { batchMax, cpu, mostMs, someExist, ...bounds }: BatchParams,
  timing: Timing,
  /** Filled in while the batch is read, and still set when it fails. */
  read: ReadBatch,
): Promise<Batch> {
  return sql.begin(async (tx) => {
    const [, , state] = await Promise.all([
      boundStatements(tx, mostMs),
      lockPlan(tx, shard),
      readShard(tx, shard),
    ]);
    const horizon = horizonOf(state, bounds.aheadMs);
    read.at = timing.now();
    read.first = batchMax === 1 ? await firstRows(tx, state, horizon) : [];
    const aheadMs = state.watermarkAt.getTime() - state.now.getTime();
    const nothing = { shard, aheadMs, rows: 0, jobs: 0, parcels: [], done: true, setAside: [] };
    if (isReached(state, horizon)) return nothing;
    const onRows = (count: number) => {
      read.rows = count;
    };
    const look = await lookAhead(tx, state, horizon, {
      batchMax,
      tooLong: tooLongFor(batchMax, cpu),
      onRows,
    });
    const { rows, unfolded, releases, somePassed, done, last } = look;
    // In a small installation most shards have nothing due in most minutes, and planning the
    // statement below would be the main cost.
    if (rows === 0) {
      await raiseWatermark(tx, shard, last, horizon);
      return nothing;
    }
    const aside = await setRowsAside(tx, state, look);
    const released = await fireReleases(tx, state, releases);
    const [, fired] = await Promise.all([
      // Due rows are mostly newer than the planner's statistics: it estimates one row, and would
      // scan all instants for each.
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
      parcels: [...fired.parcels, ...released.parcels.map((parcel) => ({ ...parcel, rated: null }))],
      shard,
      aheadMs,
      rows,
      done,
      setAside: aside,
    };
  });
}

/**
 * Sets aside the row on which a batch of one failed, with its ties, and moves the watermark past
 * it. Since that batch was rolled back, another tick may have done so, or an edit may have removed
 * the row: if other rows come first now, none of them is blamed. The plan does not change under the
 * shard's lock, so the rows need no locks of their own.
 */
export function passFailedRow(
  sql: Sql,
  shard: number,
  { first: failed, cause }: BatchFailed,
  aheadMs: number = horizonMs,
): Promise<SetAside[]> {
  return sql.begin(async (tx) => {
    const [, state] = await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);
    const horizon = horizonOf(state, aheadMs);
    if (isReached(state, horizon)) return [];
    const first = await firstRows(tx, state, horizon);
    const [row] = first;
    if (row === undefined || !isDeepStrictEqual(first, failed)) return [];
    const last = { dueAt: row.dueAt, schedule: row.scheduleId };
    const aside = await setAllAside(tx, state, last, cause);
    await raiseWatermark(tx, shard, last, horizon);
    return aside;
  });
}

/**
 * Never past the near plan: rows due beyond it may still be in the far table, and the watermark
 * would pass them.
 */
function horizonOf({ now, nearUntil }: ShardState, aheadMs: number): Date {
  return new Date(Math.min(now.getTime() + aheadMs, nearUntil.getTime() - 1));
}

/**
 * The watermark is a pair: a batch may have ended between two schedules that are due at the horizon
 * itself.
 */
function isReached({ watermarkAt, watermarkSchedule }: ShardState, horizon: Date): boolean {
  return watermarkAt > horizon || (watermarkAt >= horizon && watermarkSchedule === greatestSchedule);
}

async function raiseWatermark(tx: Tx, shard: number, to: Place, reached: Date): Promise<void> {
  await tx`
    update carillon.shards
    set watermark_at = ${to.dueAt}, watermark_schedule = ${to.schedule}, reached_at = greatest(reached_at, ${reached})
    where id = ${shard}`;
}
