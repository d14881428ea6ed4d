import type { Timing } from "../clock.ts";
import type { Tx } from "./connect.ts";
import { ConnectionLost } from "./connection-lost.ts";

const statementMsMax = 2_000;

/**
 * Limits each statement of the transaction from here to its end, waits for locks included. A batch
 * then finds the command that hangs by halving while there is still time.
 */
export async function boundStatements(tx: Tx, most: number = statementMsMax): Promise<void> {
  await tx`select set_config('statement_timeout', ${String(most)}, true)`;
}

/**
 * Postgres ends a transaction after ten idle seconds. Computing for longer than this may therefore
 * have cost the connection.
 */
export const endedMs = 8_000;

/** The connection was lost after so long that the batch itself may be the cause. */
export class TookTooLong extends Error {
  override readonly name = "TookTooLong";

  constructor() {
    super("The transaction took so long that Postgres may have ended it.");
  }
}

/**
 * Runs `act`, which is one transaction. If it loses its connection after so long that Postgres may
 * have ended it, this throws TookTooLong: a smaller batch may succeed.
 */
export async function inItsTime<Done>(timing: Timing, act: () => Promise<Done>): Promise<Done> {
  const began = timing.now();
  try {
    return await act();
  } catch (error) {
    throw error instanceof ConnectionLost && timing.now() - began > endedMs ? new TookTooLong() : error;
  }
}
