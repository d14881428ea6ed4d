import { formatDuration } from "../cadence/duration.ts";
import { ConnectionLost } from "../db/connection-lost.ts";
import type { JobResult } from "../job/define-job.ts";
import { Again, GaveUp, RetryLater, type Wanted } from "../job/handler-results.ts";
import type { RecheckBounds } from "../job/handler-traits.ts";
import { Refusal } from "../refusal.ts";
import { type Failure, failed, thrown } from "./delivery.ts";
import { refused } from "./handler-schedules.ts";

/** How a job ended, before anything of it is written. */
export type Outcome = { kind: "done" } | { kind: "again"; at: Date } | Failure;

/** What a handler says becomes what is written, within the bounds that it has set itself. */
export async function outcomeOf(
  result: JobResult,
  { checks }: { checks: number },
  bounds: RecheckBounds,
  clock: () => Promise<Date>,
): Promise<Outcome> {
  if (result instanceof Again) {
    const now = await clock();
    return recheck(instantOf(result.wanted, now), now, checks, bounds);
  }
  if (result instanceof RetryLater) return retryOf(result, await clock(), bounds);
  if (result instanceof Error) return failureOf(result);
  return { kind: "done" };
}

function recheck(at: Date, now: Date, checks: number, { maxChecks, maxAheadMs }: RecheckBounds): Outcome {
  if (checks >= maxChecks)
    return {
      ...failed(
        `It asked to be checked again after ${checks} rechecks; its handler allows ${maxChecks}.`,
        true,
      ),
      reason: "max-checks",
    };
  if (at <= now)
    return {
      ...failed(`It asked to be checked again at ${at.toISOString()}, which is not ahead.`, true),
      reason: "recheck-past",
    };
  if (at.getTime() > now.getTime() + maxAheadMs)
    return {
      ...failed(
        `It asked to be checked again at ${at.toISOString()}; its handler allows ${formatDuration(maxAheadMs)} ahead.`,
        true,
      ),
      reason: "recheck-far",
    };
  return { kind: "again", at };
}

function retryOf(error: RetryLater, now: Date, { maxAheadMs }: RecheckBounds): Failure {
  const at = instantOf(error.wanted, now);
  const failure = thrown(error);
  // A time in the past means now. Postgres does not take every year that JavaScript can write.
  if (at <= now) return { ...failure, retryAt: now };
  if (at.getTime() <= now.getTime() + maxAheadMs) return { ...failure, retryAt: at };
  return {
    ...failure,
    error: `${failure.error} It asked for ${at.toISOString()}, more than ${formatDuration(maxAheadMs)} ahead: the schedule's backoff counts instead.`,
  };
}

/** What a handler threw, or what kept its transaction from being committed. */
export function failureOf(error: unknown): Failure {
  if (error instanceof GaveUp) return { ...thrown(error, true), reason: "gave-up" };
  if (error instanceof Refusal) return { ...thrown(error), error: `Refusal: ${refused(error)}` };
  if (!(error instanceof ConnectionLost)) return thrown(error);
  const failure = thrown(error);
  return {
    ...failure,
    error: `${failure.error} (Postgres ends a transaction that waits ten seconds for something else: do slow work before the first ctx.sql, or say \`transaction: false\`.)`,
  };
}

function instantOf(wanted: Wanted, now: Date): Date {
  return "at" in wanted ? wanted.at : new Date(now.getTime() + wanted.afterMs);
}
