import { ConnectionLost } from "../db/connection-lost.ts";
import { type SqlState, sqlState } from "../db/sql-state.ts";
import { MarksMoved } from "./marks.ts";

const passing: ReadonlySet<SqlState | undefined> = new Set<SqlState>([
  "cancelled",
  "deadlock",
  "lock_timeout",
  "read_only",
  "serialization_failure",
  "shutdown",
  "too_many_connections",
]);

/**
 * Whether the same is likely to succeed a moment later. Commands that others were in the way of, as often as they began anew, are not:
 * fewer of them together are less in anybody's way.
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionLost || error instanceof MarksMoved) return true;
  return passing.has(sqlState(error)) || isOfTheNetwork(error);
}

/** As Node names what a socket or a resolver answers: ECONNREFUSED, ENOTFOUND. */
function isOfTheNetwork(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && /^E[A-Z_]+$/.test(error.code);
}
