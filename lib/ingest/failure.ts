import { isOfTheNetwork } from "../config/network-failure.ts";
import { isPassingFailure } from "../db/passing-failure.ts";
import { type SqlState, sqlState } from "../db/sql-state.ts";

/** A statement that took too long, or waited too long for a lock: the cause may be one command. */
const ofACommand: ReadonlySet<SqlState | undefined> = new Set<SqlState>(["cancelled", "lock_timeout"]);

/**
 * Whether a retry a moment later is likely to succeed, and fewer commands at once would not help.
 * `MarksMoved` does not count: it may come from one key that is edited all the time, and commands
 * of other keys can be applied without it.
 */
export function isPassing(error: unknown): boolean {
  if (isOfTheNetwork(error)) return true;
  return isPassingFailure(error) && !ofACommand.has(sqlState(error));
}
