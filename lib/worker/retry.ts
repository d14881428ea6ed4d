import { durationMs } from "../cadence/duration.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import type { Settlement } from "../parcel/settle.ts";
import type { Delivery } from "../target/delivery.ts";

/**
 * What becomes of a job after a delivery: succeeded, tried again after base × 2^(attempts before), at most `max`, or dead.
 * The wait is between half of that and all of it, so that jobs which failed together do not come back together.
 */
export function settlement(
  job: Pick<ClaimedJob, "attempt" | "retry">,
  delivery: Delivery,
  random: () => number,
): Settlement {
  if (delivery.kind === "done") return { kind: "succeeded" };
  const { error, giveUp } = delivery;
  if (giveUp || job.attempt + 1 >= job.retry.attempts) return { kind: "dead", error };
  const base = durationMs(job.retry.base) ?? 0;
  const max = durationMs(job.retry.max) ?? base;
  const backoff = Math.min(max, base * 2 ** job.attempt);
  return { kind: "retry", afterMs: backoff * (0.5 + random() / 2), error };
}
