import type { Timing } from "../clock.ts";
import type { Tx } from "./connect.ts";
import { ConnectionLost } from "./connection-lost.ts";

const statementMsMax = 2_000;

/**
 * From here to the transaction's end a statement that takes longer is given up, a wait for a lock included: so that the command that it
 * hangs on is found by halves while there is time.
 */
export async function boundStatements(tx: Tx, most: number = statementMsMax): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(most)}, true)`;
}

/** Postgres ends a transaction that waits ten seconds for what is computed here. */
export const endedMs = 8_000;

/** The connection was lost, and it may be what was asked for that is at fault. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";

  constructor() {
    super("The transaction took so long that Postgres may have ended it.");
  }
}

/** What `act` does is one transaction. Where its connection is lost after so long that Postgres may have ended it, fewer may fit. */
export async function inItsTime<Done>(timing: Timing, act: () => Promise<Done>): Promise<Done> {
  const began = timing.now();
  try {
    return await act();
  } catch (error) {
    throw error instanceof ConnectionLost && timing.now() - began > endedMs ? new TookTooLong() : error;
  }
}
