import { isOfTheNetwork } from "../config/network-failure.ts";
import { isPassingFailure } from "../db/passing-failure.ts";
import { type SqlState, sqlState } from "../db/sql-state.ts";

/** Of a statement that took too long, or waited too long for a lock: it may be one command's own. */
const ofACommand: ReadonlySet<SqlState | undefined> = new Set<SqlState>(["cancelled", "lock_timeout"]);

/**
 * Whether the same is likely to succeed a moment later, and fewer commands at once would fare no better. `MarksMoved` is not such a failure: one key
 * that is edited all the time moves, and the commands of other keys are applied without it.
 */
export function isPassing(error: unknown): boolean {
  if (isOfTheNetwork(error)) return true;
  return isPassingFailure(error) && !ofACommand.has(sqlState(error));
}
