import type { Timing } from "../clock.ts";

/**
 * Postgres ends a transaction that idles for ten seconds, and a shard's edits wait while it lasts: computing what has come due may take
 * this long in one transaction.
 */
const unfoldingMs = 500;

/** A batch that takes too long to be unfolded is rolled back, and begun again with fewer rows. */
export class UnfoldingTooLong extends Error {
  override readonly name = "UnfoldingTooLong";
}

export interface TooLong {
  /** Throws once the time is over, but for a batch of one row. */
  check(): void;
}

export function tooLongAfter(timing: Pick<Timing, "now">, since: number, rowsMax: number): TooLong {
  return {
    check: () => {
      if (rowsMax > 1 && timing.now() - since > unfoldingMs)
        throw new UnfoldingTooLong(`To unfold a batch of ${rowsMax} rows takes more than ${unfoldingMs} ms.`);
    },
  };
}
