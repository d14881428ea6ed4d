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
  /** What of it could not be planned, and is in quarantine. */
  setAside: SetAside[];
  /** True when the shard is planned up to the horizon. */
  done: boolean;
  shard: number;
  /** When it began, the shard was planned so far ahead. */
  aheadMs: number;
}

/**
 * A usual batch takes half a second. A batch that hangs on a row for this long is begun again with fewer rows. All attempts until that row stands
 * alone fit into one tick: with the role's limit of 40 s for a statement they would not.
 */
const statementMs = 8_000;

export interface BatchBounds {
  /** The machine's time, to measure how long a batch computes. */
  cpu?: () => number;
  /** A statement is given up that takes longer. */
  mostMs?: number;
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
  { cpu = systemTiming.now, mostMs = statementMs }: BatchBounds = {},
): Promise<Batch> {
  const params = { batchMax, cpu, mostMs };
  try {
    return await fireTimed(sql, shard, timing, { ...params, someExist: false });
  } catch (error) {
    if (!(error instanceof BatchFailed) || sqlState(error.cause) !== "unique_violation") throw error;
    return fireTimed(sql, shard, timing, { ...params, someExist: true });
  }
}

/** Fewer rows of the shard may do: the batch was read, and failed on what it holds. */
export class BatchFailed extends Error {
  override readonly name = "BatchFailed";
  /** The number of plan rows that the batch took. At least one of them is at fault. */
  readonly rows: number;
  /** Where the batch was limited to one row: that row and the rows that tie with it. */
  readonly first: readonly PlanRow[];

  constructor(cause: unknown, rows: number, first: readonly PlanRow[]) {
    super(`A batch of a shard failed: ${errorText(cause)}`, { cause });
    this.rows = rows;
    this.first = first;
  }
}

/** State of a batch while it runs. */
interface ReadBatch {
  /** When its shard was read, with the clock. */
  at: number;
  /** The number of its rows; its limit until they are counted. */
  rows: number;
  /** Null until its shard was read. Where the batch is limited to one row: that row and the rows that tie with it. */
  first: readonly PlanRow[] | null;
}

/**
 * A batch of thousands is written and committed for half a second and more after the waits of its parcels could have been told: they are
 * counted from when the shard was read, less what has passed since.
 */
async function fireTimed(sql: Sql, shard: number, timing: Timing, params: BatchParams): Promise<Batch> {
  const read: ReadBatch = { at: timing.now(), rows: params.batchMax, first: null };
  const batch = await fireOnce(sql, shard, params, timing, read).catch((error: unknown) => {
    // Before it was read, others had the shard locked or the database did not answer: no row is at fault. Nor is one where there is none.
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

/** The server may end a transaction that takes longer than its own limits; the driver hears of a lost connection alone. Of one row it is no fault. */
function isOfItsRows(error: unknown, { batchMax }: BatchParams): boolean {
  return mayBeOfARow(error) || (error instanceof ConnectionLost && batchMax > 1);
}

interface BatchParams extends Required<BatchBounds> {
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
  { batchMax, cpu, mostMs, someExist }: BatchParams,
  timing: Timing,
  /** Is filled in as the batch is read, and stays when it fails. */
  read: ReadBatch,
): Promise<Batch> {
  return sql.begin(async (tx) => {
    const [, , state] = await Promise.all([
      boundStatements(tx, mostMs),
      lockPlan(tx, shard),
      readShard(tx, shard),
    ]);
    const horizon = horizonOf(state);
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
    // Most shards of a small installation have nothing due in most minutes, and planning the statement below is what then costs.
    if (rows === 0) {
      await raiseWatermark(tx, shard, last, horizon);
      return nothing;
    }
    const aside = await setRowsAside(tx, state, look);
    const released = await fireReleases(tx, state, releases);
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
 * Sets aside the row on which a batch of one has failed, with what ties with it, and the watermark passes it. Since that batch was rolled back
 * another tick may have done so, or an edit may have taken the row away: where other rows come first by now, none of them is at fault. While the
 * lock of the shard is held its plan does not change, so the rows need no locks of their own.
 */
export function passFailedRow(
  sql: Sql,
  shard: number,
  { first: failed, cause }: BatchFailed,
): Promise<SetAside[]> {
  return sql.begin(async (tx) => {
    const [, state] = await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);
    const horizon = horizonOf(state);
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

/** Never past the near plan: what is due beyond it may still wait in the far table, and the watermark would pass it over. */
function horizonOf({ now, nearUntil }: ShardState): Date {
  return new Date(Math.min(now.getTime() + horizonMs, nearUntil.getTime() - 1));
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
