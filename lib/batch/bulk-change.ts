import { TookTooLong } from "../db/bounded.ts";
import type { Tx } from "../db/connect.ts";
import { isPassingFailure } from "../db/passing-failure.ts";
import { boundPart, timeOfCall } from "../edit/act-in-halves.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { findMatching } from "../history/search-schedules.ts";
import { FailedBefore, noteFailure } from "../idempotency/remembered-sql.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { FewerFit, inHalves, mayBeOfARow } from "../quarantine/in-halves.ts";
import { PassingConflict, type RefusalKind } from "../refusal.ts";
import { movedOutOf, type WithMovedOut } from "../schedule/moved-out.ts";
import { applyOperations } from "./apply-operations.ts";
import { oneByOneMax, TooMuchAtOnce } from "./apply-wave.ts";
import { type BulkEntry, beginBulk, endBulk, noteProgress } from "./bulk-entry.ts";
import {
  type BulkAction,
  type FoundSchedule,
  foundSchedules,
  operationOf,
  refusalText,
  refusePast,
} from "./bulk-operations.ts";
import type { Applied } from "./operation.ts";

export interface BulkParams extends BulkAction {
  /** The place at which the previous call ended. */
  after?: string | undefined;
}

/** A schedule that was left unchanged, and why. */
export interface BulkFailure {
  key: string;
  /** `busy`: a lock or a statement took too long. `failed`: Carillon failed on it. */
  kind: RefusalKind | "busy" | "failed";
  message: string;
}

/** The first call of an action, which has no place to continue from, has the schedules that moved away. */
export interface BulkDone extends WithMovedOut {
  done: number;
  /** Already as requested, or no longer matching. */
  unchanged: number;
  /** Refused, or not written. */
  failed: number;
  /** The first of them. */
  failures: BulkFailure[];
  /** Set if schedules may be left: the place to continue from. */
  next?: string;
}

export interface BulkBounds {
  /** The most schedules of one call. */
  most: number;
  /** No further page is begun. */
  timeIsUp: () => boolean;
  /** Nothing more is tried, within a page either. */
  mustEnd: () => boolean;
}

type BulkDeps = EditDeps & { log: Log };

/** The most schedules that one call changes. */
export const changedMost = 10_000;
const failuresShown = 20;
/** Schedules that are found at a time. A call ends behind a page, never within one. */
const pageMax = 500;
/** The most schedules of one transaction. Claims of their shards wait meanwhile. */
const batchMax = 200;
/** After this many schedules that failed alone, the failures have a common cause. */
const failedMax = 20;

/** The API's function lives for 29 s, and what is begun by then may take some seconds. */
const callMs = 20_000;

function boundsOfCall(): BulkBounds {
  const until = performance.now() + callMs;
  return { most: changedMost, timeIsUp: timeOfCall(), mustEnd: () => performance.now() > until };
}

/**
 * Changes all schedules that match a filter, in pages of the order of the list. Each batch is a
 * transaction of its own, and a schedule that fails does not stop the others. If the call is
 * killed, the same call finds the schedules that are left.
 */
export async function changeMany(
  deps: BulkDeps,
  params: BulkParams,
  { most, timeIsUp, mustEnd }: BulkBounds = boundsOfCall(),
): Promise<BulkDone> {
  const { filter, change } = params;
  await refusePast(deps.sql, change);
  const moved = params.after === undefined ? await movedOutOf(deps.sql, filter) : {};
  const total: BulkDone = { done: 0, unchanged: 0, failed: 0, failures: [] };
  const changed = () => total.done + total.unchanged + total.failed;
  let entry: BulkEntry | undefined;
  let { after } = params;
  do {
    const limit = Math.min(pageMax, most - changed());
    const { items, next } = await findMatching(deps.sql, { ...filter, after, limit });
    const found = await foundSchedules(deps.sql, items);
    if (found.length > 0) {
      entry ??= await beginBulk(deps.sql, params);
      const caller = { ...params.caller, bulk: entry.id };
      await changePage(deps, { ...params, caller }, found, { entry, total, mustEnd });
    }
    after = next;
  } while (after !== undefined && changed() < most && !timeIsUp());
  if (entry !== undefined) await endBulk(deps.sql, entry, total);
  return { ...total, ...moved, ...(after === undefined ? {} : { next: after }) };
}

/** Changes the schedules of a page, in batches of neighbouring shards. */
async function changePage(
  deps: BulkDeps,
  params: BulkParams,
  found: readonly FoundSchedule[],
  { entry, total, mustEnd }: { entry: BulkEntry; total: BulkDone; mustEnd: () => boolean },
): Promise<void> {
  let size = batchMax;
  let failedAlone = 0;
  const isOver = () => failedAlone >= failedMax || mustEnd();
  for (let from = 0; from < found.length; ) {
    const batch = found.slice(from, from + size);
    from += batch.length;
    const act = async (part: readonly FoundSchedule[]) => {
      const applied = await applyPart(deps, params, part, {
        isHalf: part.length < batch.length,
        note: (tx, those) => noteProgress(tx, entry, totalWith(total, those)),
      });
      for (const each of applied) count(total, each);
    };
    const { failed, left } = await inHalves(
      batch,
      async (part) => {
        try {
          await act(part);
        } catch (error) {
          // The next batches are likely to fail for the same reason.
          if (error instanceof FewerFit) size = Math.min(size, Math.max(1, error.fit));
          if (part.length === 1 && mayBeOfARow(error)) failedAlone += 1;
          throw error;
        }
      },
      isOver,
    );
    for (const { item, error } of failed) {
      const cause = error instanceof PartFailed ? error.cause : error;
      const { verb } = params.change;
      deps.log.error("schedule.not-changed", { key: item.key, verb, error: errorText(cause) });
      fail(total, failureOf(item.key, error));
    }
    for (const { key } of left) fail(total, { key, ...untried });
    if (!isOver()) continue;
    for (const { key } of found.slice(from)) fail(total, { key, ...untried });
    return;
  }
}

const untried = {
  kind: "busy",
  message: "It was not tried: too many others failed, or time was up. Send the call without a cursor.",
} as const;

/** How a transaction failed, in this attempt of the request or in an earlier one. */
class PartFailed extends Error {
  override readonly name = "PartFailed";
  readonly how: "busy" | "failed";

  constructor(how: "busy" | "failed", cause?: unknown) {
    super(how === "busy" ? "A lock or a statement took too long." : "Carillon failed.", { cause });
    this.how = how;
  }
}

async function applyPart(
  deps: BulkDeps,
  params: BulkParams,
  part: readonly FoundSchedule[],
  { isHalf, note }: { isHalf: boolean; note: (tx: Tx, applied: readonly Applied[]) => Promise<void> },
): Promise<Applied[]> {
  try {
    return await applyOperations(
      deps,
      part.map((found) => operationOf(params, found)),
      {
        before: async (tx) => {
          await boundPart(tx, isHalf ? "half" : "batch");
          return new Set();
        },
        after: note,
      },
    );
  } catch (error) {
    if (error instanceof FailedBefore) throw keptFailure(error.failure);
    if (!mayBeOfARow(error)) throw error;
    const kept = fitOf(error) ?? howOf(error);
    await noteFailure(deps.sql, kept);
    throw keptFailure(kept, error);
  }
}

/** The number of schedules that may succeed at once, if that is why it failed. */
function fitOf(error: unknown): number | null {
  // Each schedule is there once, so all of them count once.
  if (error instanceof TooMuchAtOnce) return oneByOneMax.divided;
  return error instanceof FewerFit ? error.fit : null;
}

function howOf(error: unknown): PartFailed["how"] {
  const isOfTheMoment =
    isPassingFailure(error) || error instanceof TookTooLong || error instanceof PassingConflict;
  return isOfTheMoment ? "busy" : "failed";
}

/** From plain data, because a request that may be repeated keeps it. */
function keptFailure(kept: unknown, cause?: unknown): Error {
  if (typeof kept === "number") return new FewerFit("Too many schedules for one transaction.", kept);
  return new PartFailed(kept === "busy" ? "busy" : "failed", cause);
}

const messages = {
  busy: "It waited too long for a lock, or a statement took too long.",
  failed: "Carillon failed on it; the log has the cause.",
} as const;

function failureOf(key: string, error: unknown): BulkFailure {
  const kind = error instanceof PartFailed ? error.how : "failed";
  return { key, kind, message: messages[kind] };
}

function totalWith(total: BulkDone, applied: readonly Applied[]): BulkDone {
  const sum = { ...total, failures: [...total.failures] };
  for (const each of applied) count(sum, each);
  return sum;
}

function count(total: BulkDone, applied: Applied): void {
  if (applied.change === "refused" && applied.refusal.kind !== "missing") {
    const { key, refusal } = applied;
    fail(total, { key, kind: refusal.kind, message: refusalText(refusal) });
    return;
  }
  if (applied.change === "changed" || applied.change === "deleted") total.done += 1;
  else total.unchanged += 1;
}

function fail(total: BulkDone, failure: BulkFailure): void {
  total.failed += 1;
  if (total.failures.length < failuresShown) total.failures.push(failure);
}
