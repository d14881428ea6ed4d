import { type SqlState, sqlState } from "../db/sql-state.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { Settled } from "../parcel/settle.ts";

/** What another try may be spared; of the one before nothing was written. */
const mayPass: ReadonlySet<SqlState | undefined> = new Set([
  "deadlock",
  "lock_timeout",
  "serialization_failure",
]);
const settlesMax = 3;

/** What was delivered would be delivered again, did its settle give way to somebody else's. */
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
