import { durationMs } from "../cadence/duration.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type { Settlement } from "../parcel/settle.ts";
import type { RetryPolicy } from "../schedule/shape/retry-shape.ts";
import type { Delivery } from "../target/delivery.ts";

/** The settlement of a job after a delivery; null if its own transaction has written it. */
export function settlement(
  job: Pick<ClaimedJob, "attempt" | "forgiven" | "retry">,
  delivery: Delivery,
  random: () => number,
): Settlement | null {
  switch (delivery.kind) {
    case "done":
      return { kind: "succeeded" };
    case "again":
    case "back":
    case "cancelled":
      return delivery;
    case "settled":
      return null;
    case "failed": {
      const { error, errorClass, stack, giveUp, reason, retryAt, hold } = delivery;
      const kept = { error, errorClass, stack };
      if (giveUp) return { kind: "dead", reason: reason ?? "gave-up", hold, ...kept };
      const failures = job.attempt + 1 - job.forgiven;
      if (failures >= job.retry.attempts) return { kind: "dead", reason: "attempts", hold, ...kept };
      if (retryAt !== undefined) return { kind: "retry", at: retryAt, ...kept };
      return { kind: "retry", afterMs: backoffMs(job.retry, failures, random), ...kept };
    }
  }
}

/** The longest wait that a policy may name. It replaces a maximum that cannot be read. */
const longestMs = 30 * 86_400_000;
/** More doublings than this exceed every maximum, and many more overflow. */
const doublingsMax = 50;

/**
 * How long to wait after this number of failures. With full jitter the wait is any time up to that,
 * so that jobs that failed together are not retried together.
 */
export function backoffMs(retry: RetryPolicy, failures: number, random: () => number): number {
  const full = Math.min(fullBackoffMs(retry, failures), durationMs(retry.max) ?? longestMs);
  return retry.jitter === "none" ? full : full * random();
}

function fullBackoffMs({ backoff, base, delays }: RetryPolicy, failures: number): number {
  const baseMs = durationMs(base) ?? 0;
  switch (backoff) {
    case "fixed":
      return baseMs;
    case "linear":
      return baseMs * failures;
    case "exponential":
      return baseMs * 2 ** Math.min(failures - 1, doublingsMax);
    case "list":
      return durationMs(delays?.[failures - 1] ?? "0s") ?? 0;
  }
}
