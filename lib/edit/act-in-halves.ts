import { boundStatements } from "../db/bounded.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { waitBriefly } from "../db/locks.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { inHalves } from "../quarantine/in-halves.ts";

/** Within this time a call for many jobs or schedules ends by itself: the API's own is bounded. */
const callMs = 8_000;

export function timeOfCall(): () => boolean {
  const until = performance.now() + callMs;
  return () => performance.now() > until;
}

/** A batch as a whole, or one of its halves after it has failed. */
export type Part = "batch" | "half";

/** A batch of some hundreds takes a tenth of this. With the halves behind it a call still ends within the API's own time. */
const batchMsMax = 5_000;

export interface ActedInHalves {
  failed: number;
  /** How many items were tried, from the first one on. For the others there was no time. */
  tried: number;
}

export interface Acting<Item> {
  log: Log;
  /** The line of an item that fails alone, and by what it is named there. */
  event: "job.not-retried" | "job.not-cancelled" | "schedule.not-deleted";
  named: (item: Item) => { job: string } | { key: string };
  act: (items: readonly Item[], part: Part) => Promise<void>;
  timeIsUp: () => boolean;
}

/**
 * Acts on a batch of jobs or schedules, and where that fails on its halves. One that fails alone is logged and counted, and those behind it go on. At least
 * one is passed before time counts as up: the next call would meet the same failure at the same place.
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

/** Bounds each statement of the transaction, its wait for a lock included. A half waits for a lock only briefly. */
export async function boundPart(tx: Tx, part: Part): Promise<void> {
  if (part === "batch") return boundStatements(tx, batchMsMax);
  await waitBriefly(tx);
  await boundStatements(tx);
}

/** A transaction, of a part of a bulk call where it is one. */
export function beginPart<T>(sql: Sql, part: Part | undefined, work: (tx: Tx) => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    if (part !== undefined) await boundPart(tx, part);
    return work(tx);
  });
}
