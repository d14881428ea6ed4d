import type { Sql } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { inHalves, mayBeOfARow, OfNoRow } from "./in-halves.ts";
import {
  type Consumer,
  type Detail,
  type Failed,
  letGoUnlocked,
  logSetFreeAside,
  setFreeAside,
} from "./quarantine.ts";

/** A row of a list that leaves out rows waiting in quarantine. */
export interface Tried {
  item: string;
  scheduleId?: string | null;
  detail?: Detail;
  /** The row was in quarantine when it was listed, and its next retry is due. */
  aside: boolean;
}

/** Returned by `act` for a row that it did not finish, without a failure. */
export const notDone = "not done";

export interface Quarantine {
  sql: Sql;
  log: Log;
  consumer: Consumer;
}

/**
 * Acts on each row in turn. A failed row is set aside at once, so that it is recorded even if the
 * tick is killed, and the next rows go on. A row that `act` did not finish keeps its entry.
 */
export async function tryEach<Row extends Tried>(
  quarantine: Quarantine,
  rows: readonly Row[],
  act: (row: Row) => Promise<unknown>,
  timeIsUp: () => boolean,
): Promise<void> {
  for (const row of rows) {
    if (timeIsUp()) break;
    try {
      if ((await act(row)) === notDone) continue;
    } catch (error) {
      if (!mayBeOfARow(error)) throw error;
      await putAside(quarantine, [failedOf(row, error)]);
      continue;
    }
    await letGoUnlocked(quarantine.sql, quarantine.consumer, asideOf([row]));
  }
}

/** A row that is handled under the locks of its shard. */
export interface TriedInShard extends Tried {
  shard: number;
}

export interface ShardBounds {
  timeIsUp: () => boolean;
  note: (error: unknown) => void;
  /**
   * Shards whose locks were not granted: each of their rows would wait as long, so they are left
   * until the next tick.
   */
  left: Set<number>;
}

/**
 * `tryEach` for rows that need the locks of their shards. If these are not granted, which `act`
 * reports through `blameOnceLocked`, no row is blamed, and rows of other shards go on.
 */
export async function tryEachInShards<Row extends TriedInShard>(
  quarantine: Quarantine,
  rows: readonly Row[],
  act: (row: Row) => Promise<unknown>,
  { timeIsUp, note, left }: ShardBounds,
): Promise<void> {
  for (const row of rows) {
    if (timeIsUp()) break;
    if (left.has(row.shard)) continue;
    try {
      await tryEach(quarantine, [row], act, () => false);
    } catch (error) {
      if (!(error instanceof OfNoRow)) throw error;
      note(error.cause);
      left.add(row.shard);
    }
  }
}

/**
 * Acts on the rows together, and in halves after a failure (`inHalves`). Rows that fail alone are
 * set aside.
 */
export async function tryInHalves<Row extends Tried>(
  quarantine: Quarantine,
  rows: readonly Row[],
  act: (rows: readonly Row[]) => Promise<void>,
  timeIsUp: () => boolean,
): Promise<void> {
  const { failed, left } = await inHalves(rows, act, timeIsUp);
  await putAside(
    quarantine,
    failed.map(({ item, error }) => failedOf(item, error)),
  );
  const untouched = new Set([...failed.map(({ item }) => item), ...left]);
  const done = rows.filter((row) => !untouched.has(row));
  await letGoUnlocked(quarantine.sql, quarantine.consumer, asideOf(done));
}

/**
 * Whether all tried rows are listed again: the attempt changed nothing, and the next one would not
 * either. The loop ends then, or one row would use up all of a tick's time.
 */
export function allListedAgain(
  tried: readonly Pick<Tried, "item">[],
  listed: readonly Pick<Tried, "item">[],
): boolean {
  const again = new Set(listed.map(({ item }) => item));
  return tried.length > 0 && tried.every(({ item }) => again.has(item));
}

/**
 * For a loop over schedules that goes on after a failure. The returned function sets the failed
 * schedule aside, or passes a failure that is no row's fault to `note`.
 */
export function asideOrNoted(
  quarantine: Quarantine,
  note: (error: unknown) => void,
): (scheduleId: string, error: unknown) => Promise<void> {
  return async (scheduleId, error) => {
    if (mayBeOfARow(error)) await putAside(quarantine, [{ item: scheduleId, scheduleId, error }]);
    else note(error instanceof OfNoRow ? error.cause : error);
  };
}

/**
 * Sets rows aside and logs them. Returns rows that were not set aside because their entry is
 * locked: they are listed again.
 */
export async function putAside(
  { sql, log, consumer }: Quarantine,
  failed: readonly Failed[],
): Promise<readonly Failed[]> {
  const done = await setFreeAside(sql, consumer, failed);
  logSetFreeAside(log, consumer, done);
  return done.locked;
}

function failedOf({ item, scheduleId = null, detail }: Tried, error: unknown): Failed {
  return detail === undefined ? { item, error, scheduleId } : { item, error, scheduleId, detail };
}

const asideOf = (rows: readonly Tried[]) => rows.filter(({ aside }) => aside).map(({ item }) => item);
