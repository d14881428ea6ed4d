import { sqlState } from "./sql-state.ts";

/**
 * Which failures of a transaction are worth another attempt, and how many attempts there are in
 * all.
 */
export interface RetryPolicy {
  attempts: number;
  isRetryable: (error: unknown) => boolean;
}

/** Another transaction was in the way, and Postgres rolled this one back. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return state === "deadlock" || state === "serialization_failure";
}

/** For housekeeping: the next tick tries again, so three attempts are enough. */
export const conflicts: RetryPolicy = { attempts: 3, isRetryable: isConflict };

/** Repeats `work`, a whole transaction, by the policy. Throws the error of the last attempt. */
export async function retrying<Done>(
  { attempts, isRetryable }: RetryPolicy,
  work: () => Promise<Done>,
): Promise<Done> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attempts || !isRetryable(error)) throw error;
    }
  }
}
