import * as z from "zod";
import { durationMs } from "../../cadence/duration.ts";
import { dayMs, durationShape } from "./timing-shape.ts";

/** The number of attempts of a job, and the waits between them. */
export interface RetryPolicy {
  attempts: number;
  /** `list`: the waits are in `delays`, one fewer than the attempts. */
  backoff: "fixed" | "linear" | "exponential" | "list";
  base: string;
  /** The longest wait. */
  max: string;
  /** `full`: the wait is random, from zero to the backoff. */
  jitter: "full" | "none";
  delays?: string[] | undefined;
}

const attemptsMax = 100;
const waitShape = durationShape({ minMs: 1, maxMs: 7 * dayMs, range: "up to 7 days" });
const maxShape = durationShape({ minMs: 1, maxMs: 30 * dayMs, range: "up to 30 days" });

/** Waits by a rule, or a list of exact ones. */
export const retryShape = z
  .strictObject({
    attempts: z.int().min(1).max(attemptsMax).optional(),
    backoff: z.enum(["fixed", "linear", "exponential", "list"]).optional(),
    base: waitShape.optional(),
    max: maxShape.optional(),
    jitter: z.enum(["full", "none"]).optional(),
    delays: z
      .array(waitShape)
      .min(1)
      .max(attemptsMax - 1)
      .optional(),
  })
  .transform((given, context): RetryPolicy => {
    const fault = faultOf(given);
    if (fault !== null) {
      context.addIssue({ code: "custom", ...fault });
      return z.NEVER;
    }
    const backoff = given.delays === undefined ? (given.backoff ?? "exponential") : "list";
    const rule = { base: given.base ?? "10s", max: given.max ?? (given.delays === undefined ? "1h" : "30d") };
    const byDefault = backoff === "exponential" || backoff === "linear" ? "full" : "none";
    return {
      attempts: given.delays === undefined ? (given.attempts ?? 5) : given.delays.length + 1,
      backoff,
      ...rule,
      jitter: given.jitter ?? byDefault,
      ...(given.delays === undefined ? {} : { delays: given.delays }),
    };
  });

interface GivenRetry {
  attempts?: number | undefined;
  backoff?: RetryPolicy["backoff"] | undefined;
  base?: string | undefined;
  max?: string | undefined;
  delays?: string[] | undefined;
}

/** The fault of members that contradict each other. A policy as it is read back has none. */
function faultOf({
  attempts,
  backoff,
  base,
  max,
  delays,
}: GivenRetry): { path: string[]; message: string } | null {
  if (delays === undefined && backoff === "list")
    return { path: ["delays"], message: "is required where `backoff` is `list`" };
  if (delays !== undefined && backoff !== undefined && backoff !== "list")
    return { path: ["backoff"], message: "is `list` where `delays` names the waits" };
  if (delays !== undefined && attempts !== undefined && attempts !== delays.length + 1)
    return { path: ["attempts"], message: `is one more than the number of \`delays\`: ${delays.length + 1}` };
  const baseMs = durationMs(base ?? "10s") ?? 0;
  const maxMs = durationMs(max ?? "1h") ?? 0;
  return delays === undefined && baseMs > maxMs
    ? { path: ["max"], message: "may not be shorter than `retry.base`" }
    : null;
}
