import { ConnectionLost } from "./connection-lost.ts";
import { type SqlState, sqlState } from "./sql-state.ts";

const ofTheDatabase: ReadonlySet<SqlState | undefined> = new Set<SqlState>([
  "disk_full",
  "no_answer",
  "no_seat",
  // A row has at most 240 KB, and cannot use up the memory of the server.
  "out_of_memory",
  "read_only",
  "shutdown",
  "starting",
  "too_many_connections",
]);

/**
 * A lock that is not granted, a statement that takes too long: other rows may succeed at the same
 * moment.
 */
const ofTheMoment: ReadonlySet<SqlState | undefined> = new Set<SqlState>([
  "cancelled",
  "deadlock",
  "lock_timeout",
  "serialization_failure",
]);

/** Whether the database as a whole has failed, or refuses the request as a whole, so that no row is at fault. */
export function isOfTheDatabase(error: unknown): boolean {
  return error instanceof ConnectionLost || ofTheDatabase.has(sqlState(error));
}

/** Whether the database is likely to do the same work a moment later. */
export function isPassingFailure(error: unknown): boolean {
  return isOfTheDatabase(error) || ofTheMoment.has(sqlState(error));
}
