import { AsyncLocalStorage } from "node:async_hooks";
import type { Timing } from "../clock.ts";
import { endedMs, TookTooLong } from "../db/bounded.ts";
import { ConnectionLost } from "../db/connection-lost.ts";
import { FewerFit } from "../quarantine/in-halves.ts";

/**
 * Time limit for computing occurrences in one transaction. Postgres ends a transaction that is idle
 * for ten seconds, and edits of the shard wait meanwhile.
 */
const unfoldingMs = 500;

/** Unfolding a batch took too long; it is rolled back and started again with fewer rows. */
export class UnfoldingTooLong extends FewerFit {
  override readonly name = "UnfoldingTooLong";
}

/** Counts the time spent on unfolding a batch, without the waits for the database. */
export interface TooLong {
  begin(): void;
  /** Throws once the time is used up, except for a batch of one row. */
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
          `Unfolding the due occurrences of ${rowsMax} schedules takes more than ${unfoldingMs} ms.`,
          fit,
        );
      fit += 1;
    },
    spentMs: () => spent,
  };
}

const underWay = new AsyncLocalStorage<TooLong>();

/**
 * Runs one transaction that edits `rows` schedules under their shard's locks. If computing their
 * occurrences takes too long, it fails, so that the caller retries with fewer; a single schedule
 * continues. If the connection is lost after so much computing that Postgres may have ended the
 * transaction, the schedule is at fault, not the database.
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

/** Runs `act` and counts its computing in `tooLong`. */
export const countingBy = <Done>(tooLong: TooLong, act: () => Promise<Done>): Promise<Done> =>
  underWay.run(tooLong, act);

/** Computes occurrences and counts the time for the current transaction. */
export function counted<Computed>(compute: () => Computed): Computed {
  const tooLong = underWay.getStore();
  if (tooLong === undefined) return compute();
  tooLong.begin();
  const computed = compute();
  tooLong.check();
  return computed;
}
