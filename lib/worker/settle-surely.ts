import { type SqlState, sqlState } from "../db/sql-state.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { Settled } from "../parcel/settle.ts";

/** SQL states worth retrying: the failed try has written nothing. */
const mayPass: ReadonlySet<SqlState | undefined> = new Set([
  "deadlock",
  "lock_timeout",
  "serialization_failure",
]);
const settlesMax = 3;

/**
 * Retries a settle that lost against another transaction. Without the retry the delivered jobs
 * would be delivered again.
 */
export async function settleSurely(
  log: Log,
  parcel: string,
  settle: () => Promise<Settled>,
): Promise<Settled> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await settle();
    } catch (error) {
      if (!mayPass.has(sqlState(error)) || attempt === settlesMax) throw error;
      log.warn("worker.settle-again", { parcel, error: errorText(error) });
    }
  }
}
