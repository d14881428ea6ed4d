import type { Tx } from "../db/connect.ts";
import {
  closeGate,
  closeGates,
  lockEdit,
  lockEdits,
  lockPlanShared,
  lockPlansShared,
  waitBriefly,
  waitForRows,
} from "../db/locks.ts";
import { type Label, lockLabels } from "../schedule/shared-holds.ts";

export interface ChangeLocks {
  /** Locked shared: no hold of these labels is set or released meanwhile. */
  labels?: readonly Label[];
  /** Their plan locks are taken shared: no tick plans there meanwhile. */
  shards: readonly number[];
  /**
   * Shards whose gates are closed, so that no job starts there; those of `shards` if left out, none
   * if empty. Their edit locks are taken first: other edits of these shards queue behind.
   */
  gates?: readonly number[];
  /** For a part of a failed batch: waits half a second for each lock. */
  briefly?: boolean;
  /**
   * Called when these locks are held. A failure before that concerns all schedules of the shard,
   * not a single one.
   */
  noteLocked?: (() => void) | undefined;
  /**
   * For housekeeping: the number of rows that the caller locks next. The transaction waits for them
   * only briefly, since another transaction may be editing one of them.
   */
  waitingForRows?: number | undefined;
}

/**
 * Takes the locks of a change up to the schedules' rows, in the order of lib/db/locks.ts: labels,
 * edit locks, plan locks, gates. Each is a statement of its own, and all are sent before this
 * function returns: the caller sends its reads right behind, in the same round trip.
 */
export function lockForChange(
  tx: Tx,
  { labels = [], shards, gates = shards, briefly = false, noteLocked, waitingForRows }: ChangeLocks,
): Promise<unknown> {
  return Promise.all([
    briefly ? waitBriefly(tx) : null,
    lockLabels(tx, labels),
    queueForEdits(tx, gates),
    lockPlans(tx, shards),
    closeAll(tx, gates).then(noteLocked),
    waitingForRows === undefined ? null : waitForRows(tx, waitingForRows),
  ]);
}

// Nearly every edit has one shard: the statement for one has nothing to sort.
function queueForEdits(tx: Tx, gates: readonly number[]): PromiseLike<unknown> {
  const [only, ...others] = gates;
  if (only === undefined) return Promise.resolve();
  return others.length === 0 ? lockEdit(tx, only) : lockEdits(tx, gates);
}

function lockPlans(tx: Tx, shards: readonly number[]): PromiseLike<unknown> {
  const [only, ...others] = shards;
  return only !== undefined && others.length === 0 ? lockPlanShared(tx, only) : lockPlansShared(tx, shards);
}

function closeAll(tx: Tx, gates: readonly number[]): PromiseLike<unknown> {
  const [only, ...others] = gates;
  if (only === undefined) return Promise.resolve();
  return others.length === 0 ? closeGate(tx, only) : closeGates(tx, gates);
}
