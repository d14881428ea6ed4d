import { ConnectionLost } from "./connection-lost.ts";
import { type SqlState, sqlState } from "./sql-state.ts";

const passing: ReadonlySet<SqlState | undefined> = new Set<SqlState>([
  "cancelled",
  "deadlock",
  "lock_timeout",
  "no_answer",
  "read_only",
  "serialization_failure",
  "shutdown",
  "starting",
  "too_many_connections",
]);

/** Whether the database is likely to do the same a moment later. */
export function isPassingFailure(error: unknown): boolean {
  return error instanceof ConnectionLost || passing.has(sqlState(error));
}
