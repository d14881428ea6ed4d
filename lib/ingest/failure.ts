import { isOfTheNetwork } from "../config/network-failure.ts";
import { isPassingFailure } from "../db/passing-failure.ts";
import { type SqlState, sqlState } from "../db/sql-state.ts";
import { MarksMoved } from "./marks.ts";

/** Of a statement that took too long, or waited too long for a lock: it may be one command's own. */
const ofACommand: ReadonlySet<SqlState | undefined> = new Set<SqlState>(["cancelled", "lock_timeout"]);

/**
 * Whether the same is likely to succeed a moment later, and fewer commands at once would fare no better. Commands that others were in the
 * way of, as often as they began anew, are not such: fewer of them together are less in anybody's way.
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof MarksMoved || isOfTheNetwork(error)) return true;
  return isPassingFailure(error) && !ofACommand.has(sqlState(error));
}
