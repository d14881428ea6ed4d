/**
 * Postgres ends a transaction that idles for ten seconds, and a shard's edits wait while it lasts: computing what has come due may take
 * this long in one transaction.
 */
const unfoldingMs = 500;

/** A batch that takes too long to be unfolded is rolled back, and begun again with fewer rows. */
export class UnfoldingTooLong extends Error {
  override readonly name = "UnfoldingTooLong";
}

/** Counts the time that a batch takes to be unfolded, and none that it waits for the database. */
export interface TooLong {
  begin(): void;
  /** Throws once the time is over, but for a batch of one row. */
  check(): void;
}

export function tooLongFor(rowsMax: number, now: () => number): TooLong {
  let spent = 0;
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
        throw new UnfoldingTooLong(`To unfold a batch of ${rowsMax} rows takes more than ${unfoldingMs} ms.`);
    },
  };
}
