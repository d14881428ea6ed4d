import { formatDuration } from "../../cadence/duration.ts";
import { ConnectionLost } from "../../db/connection-lost.ts";
import { saidBy, type Wanted } from "../../job/handler-results.ts";
import type { RecheckBounds } from "../../job/handler-traits.ts";
import { Refusal } from "../../refusal.ts";
import { type Failure, failed, thrown } from "../delivery.ts";
import { refused } from "./handler-schedules.ts";

/** The outcome of a job before it is written. */
export type Outcome = { kind: "done" } | { kind: "again"; at: Date } | Failure;

/**
 * Turns a handler's result into an outcome, within the handler's own limits. All members that the
 * handler may still change are read before the clock, which is asynchronous.
 */
export async function outcomeOf(
  result: unknown,
  { checks }: { checks: number },
  bounds: RecheckBounds,
  clock: () => Promise<Date>,
): Promise<Outcome> {
  const said = saidBy(result);
  if (said?.kind === "done") return { kind: "done" };
  if (said?.kind === "again") {
    const now = await clock();
    return recheck(instantOf(said.wanted, now), now, checks, bounds);
  }
  const failure = failureOf(result);
  return said?.kind === "retry" ? retryOf(failure, said.wanted, await clock(), bounds) : failure;
}

function recheck(at: Date, now: Date, checks: number, { maxChecks, maxAheadMs }: RecheckBounds): Outcome {
  if (checks >= maxChecks)
    return {
      ...failed(
        `It asked for another recheck after ${checks} rechecks; its handler allows ${maxChecks}.`,
        true,
      ),
      reason: "max-checks",
    };
  if (at <= now)
    return {
      ...failed(`It asked for a recheck at ${at.toISOString()}, which is not in the future.`, true),
      reason: "recheck-past",
    };
  if (at.getTime() > now.getTime() + maxAheadMs)
    return {
      ...failed(
        `It asked for a recheck at ${at.toISOString()}; its handler allows at most ${formatDuration(maxAheadMs)} ahead.`,
        true,
      ),
      reason: "recheck-far",
    };
  return { kind: "again", at };
}

function retryOf(failure: Failure, wanted: Wanted, now: Date, { maxAheadMs }: RecheckBounds): Failure {
  const at = instantOf(wanted, now);
  // A time in the past means now. Postgres does not take every year that JavaScript can write.
  if (at <= now) return { ...failure, retryAt: now };
  if (at.getTime() <= now.getTime() + maxAheadMs) return { ...failure, retryAt: at };
  return saying(
    failure,
    `${failure.error} It asked for a retry at ${at.toISOString()}, more than ${formatDuration(maxAheadMs)} ahead: the schedule's backoff applies instead.`,
  );
}

/** The failure that a handler threw, or that kept its transaction from being committed. */
export function failureOf(error: unknown): Failure {
  try {
    return explained(error);
  } catch {
    // A proxy, or an error whose members the handler has changed.
    return thrown(error);
  }
}

function explained(error: unknown): Failure {
  if (saidBy(error)?.kind === "gave-up") return { ...thrown(error, true), reason: "gave-up" };
  if (error instanceof Refusal) return saying(thrown(error), `Refusal: ${refused(error)}`);
  if (!(error instanceof ConnectionLost)) return thrown(error);
  const failure = thrown(error);
  return saying(
    failure,
    `${failure.error} (Postgres ends a transaction that is idle for ten seconds: do slow work before the first ctx.sql, or set \`transaction: false\`.)`,
  );
}

function saying(failure: Failure, said: string): Failure {
  return { ...failure, error: failed(said).error };
}

function instantOf(wanted: Wanted, now: Date): Date {
  return "at" in wanted ? wanted.at : new Date(now.getTime() + wanted.afterMs);
}
