import { isConflict, type RetryPolicy } from "../db/retrying.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import { TeamNotLocked } from "../quota/quota-check.ts";
import { RestartTransaction } from "./restart-transaction.ts";

/**
 * Whether a transaction conflicted with another one: a deadlock, a serialization failure, a key
 * that another create took meanwhile, or labels or teams that must be locked before all other locks.
 */
export function isEditConflict(error: unknown): boolean {
  if (error instanceof RestartTransaction || error instanceof TeamNotLocked || isConflict(error)) return true;
  return sqlState(error) === "unique_violation" && violatedConstraint(error) === "schedules_live_key";
}

export const editConflicts: RetryPolicy = { attempts: 5, isRetryable: isEditConflict };
