import { AsyncLocalStorage } from "node:async_hooks";
import type { Timing } from "../clock.ts";
import { endedMs, TookTooLong } from "../db/bounded.ts";
import { ConnectionLost } from "../db/connection-lost.ts";
import { FewerFit } from "../quarantine/in-halves.ts";

/**
 * Postgres ends a transaction that idles for ten seconds, and a shard's edits wait while it lasts: computing what has come due may take
 * this long in one transaction.
 */
const unfoldingMs = 500;

/** A batch that takes too long to be unfolded is rolled back, and begun again with fewer rows. */
export class UnfoldingTooLong extends FewerFit {
  override readonly name = "UnfoldingTooLong";
}

/** Counts the time that a batch takes to be unfolded, and none that it waits for the database. */
export interface TooLong {
  begin(): void;
  /** Throws once the time is over, but for a batch of one row. */
  check(): void;
  spentMs(): number;
}

export function tooLongFor(rowsMax: number, now: () => number): TooLong {
  let spent = 0;
  let fit = 0;
  let since = now();
  return {
    begin: () => {
      since = now();
    },
    check: () => {
      const at = now();
      spent += at - since;
      since = at;
      if (rowsMax > 1 && spent > unfoldingMs)
        throw new UnfoldingTooLong(
          `To compute what of ${rowsMax} schedules has come due takes more than ${unfoldingMs} ms.`,
          fit,
        );
      fit += 1;
    },
    spentMs: () => spent,
  };
}

const underWay = new AsyncLocalStorage<TooLong>();

/**
 * Runs one transaction that edits `rows` schedules under the locks of their shard. Where their occurrences take too long to be computed it fails,
 * and fewer of them may fit; with one schedule it goes on. Where the connection is lost after computing for so long that Postgres may have ended the
 * transaction, the schedule is at fault, and not the database.
 */
export async function unfoldingInTime<Done>(
  timing: Timing,
  rows: number,
  act: () => Promise<Done>,
): Promise<Done> {
  const tooLong = tooLongFor(rows, timing.now);
  try {
    return await countingBy(tooLong, act);
  } catch (error) {
    throw error instanceof ConnectionLost && tooLong.spentMs() > endedMs ? new TookTooLong() : error;
  }
}

/** Has what `act` computes counted by `tooLong`. */
export const countingBy = <Done>(tooLong: TooLong, act: () => Promise<Done>): Promise<Done> =>
  underWay.run(tooLong, act);

/** Computes what has come due, and counts the time for the transaction under way. */
export function counted<Computed>(compute: () => Computed): Computed {
  const tooLong = underWay.getStore();
  if (tooLong === undefined) return compute();
  tooLong.begin();
  const computed = compute();
  tooLong.check();
  return computed;
}
