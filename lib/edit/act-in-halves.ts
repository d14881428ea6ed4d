import { boundStatements } from "../db/bounded.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { waitBriefly } from "../db/locks.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { inHalves } from "../quarantine/in-halves.ts";

/** A bulk call stops by itself after this time, so that it answers within the API's time limit. */
const callMs = 8_000;

export function timeOfCall(): () => boolean {
  const until = performance.now() + callMs;
  return () => performance.now() > until;
}

/** A batch as a whole, or one of its halves after it has failed. */
export type Part = "batch" | "half";

/**
 * Time limit of each statement of a batch. A batch of some hundreds takes a tenth of it. With the
 * retries of its halves a call still ends within the API's time limit.
 */
const batchMsMax = 5_000;

export interface ActedInHalves {
  failed: number;
  /** Number of items tried, from the first on. There was no time for the rest. */
  tried: number;
}

export interface Acting<Item> {
  log: Log;
  /** The log event for an item that fails alone, and the field that names the item in it. */
  event: "job.not-retried" | "job.not-cancelled" | "schedule.not-deleted";
  named: (item: Item) => { job: string } | { key: string };
  act: (items: readonly Item[], part: Part) => Promise<void>;
  timeIsUp: () => boolean;
}

/**
 * Acts on a batch of jobs or schedules, and on its halves if that fails. An item that fails alone
 * is logged and counted, and the items after it are still processed. The time limit applies only
 * after one item has succeeded or failed alone: otherwise the next call would meet the same failure
 * at the same item.
 */
export async function actInHalves<Item>(
  items: readonly Item[],
  { log, event, named, act, timeIsUp }: Acting<Item>,
): Promise<ActedInHalves> {
  let isAnyPassed = false;
  const { failed, left } = await inHalves(
    items,
    async (some) => {
      isAnyPassed ||= some.length === 1;
      await act(some, some.length < items.length ? "half" : "batch");
      isAnyPassed = true;
    },
    () => isAnyPassed && timeIsUp(),
  );
  for (const { item, error } of failed) log.error(event, { ...named(item), error: errorText(error) });
  return { failed: failed.length, tried: items.length - left.length };
}

/**
 * Limits the time of each statement of the transaction, waits for locks included. A half waits for
 * a lock only briefly.
 */
export async function boundPart(tx: Tx, part: Part): Promise<void> {
  if (part === "batch") return boundStatements(tx, batchMsMax);
  await waitBriefly(tx);
  await boundStatements(tx);
}

/** Begins a transaction, with the limits of `boundPart` if it belongs to a bulk call. */
export function beginPart<T>(sql: Sql, part: Part | undefined, work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    if (part !== undefined) await boundPart(tx, part);
    return work(tx);
  });
}
