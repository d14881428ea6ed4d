import { durationMs } from "../cadence/duration.ts";
import type { Clock } from "../clock.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import { type Delivery, type DeliveryContext, failed } from "./delivery.ts";
import { sideBySide } from "./side-by-side.ts";

/** Why the signal of an attempt aborts. */
export class AttemptStopped extends Error {
  override readonly name = "AttemptStopped";
  readonly why: "timeout" | "cancelled" | "lease-lost" | "out-of-time";

  constructor(why: AttemptStopped["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/** Without a reason of ours each abort makes an error, with its stack. */
const attemptOver = "The attempt is over.";

/** What is left of an attempt's time before the invocation ends: to settle what it did. */
export const settleMs = 3_000;

/**
 * Runs the attempts of jobs side by side, `slots` at most at once, each within its schedule's timeout. Nobody waits for one that
 * goes on after its signal has aborted. What did not come to start in time is handed back.
 */
export async function eachAttempt<Job extends ClaimedJob>(
  jobs: readonly Job[],
  context: DeliveryContext,
  clock: Clock,
  attempt: (job: Job, signal: AbortSignal) => Promise<Delivery>,
): Promise<Delivery[]> {
  const deliveries: Delivery[] = jobs.map(() => ({ kind: "back" }));
  await sideBySide([...jobs.entries()], context.slots, clock, async ([index, job]) => {
    deliveries[index] = await boundedAttempt(job, context, clock, attempt);
  });
  return deliveries;
}

/** One attempt, of one job or of several that run together. */
export async function boundedAttempt<Job extends ClaimedJob>(
  job: Job,
  context: DeliveryContext,
  clock: Clock,
  attempt: (job: Job, signal: AbortSignal) => Promise<Delivery>,
): Promise<Delivery> {
  const outside = context.signalOf(job);
  const timeoutMs = durationMs(job.timeout) ?? 0;
  const roomMs = context.timeLeftMs() - settleMs;
  if (outside.aborted || roomMs <= 0 || (roomMs < timeoutMs && roomMs < worthStartingMs))
    return { kind: "back" };
  const over = new AbortController();
  const stop = new AbortController();
  const stopped = Promise.withResolvers<Delivery>();
  const stopFor = (reason: unknown) => {
    if (stop.signal.aborted || over.signal.aborted) return;
    stop.abort(reason);
    stopped.resolve(stoppedFor(reason));
  };
  const onOutside = () => stopFor(outside.reason);
  outside.addEventListener("abort", onOutside, { once: true });
  void clock.sleep(Math.min(timeoutMs, roomMs), over.signal).then(() => {
    // Nearly every attempt is over before its time: an error that nobody sees costs more than all else here.
    if (!over.signal.aborted) stopFor(timeUp(job, timeoutMs, roomMs));
  });
  try {
    return await Promise.race([attempt(job, stop.signal).catch(failed), stopped.promise]);
  } finally {
    over.abort(attemptOver);
    outside.removeEventListener("abort", onOutside);
  }
}

/** An attempt that could not have its whole timeout is still worth starting with so much time. */
const worthStartingMs = 30_000;

function timeUp(job: ClaimedJob, timeoutMs: number, roomMs: number): AttemptStopped {
  return timeoutMs <= roomMs
    ? new AttemptStopped("timeout", `The attempt took longer than ${job.timeout}.`)
    : new AttemptStopped("out-of-time", "The worker's own time was up.");
}

function stoppedFor(reason: unknown): Delivery {
  return reason instanceof AttemptStopped && reason.why === "cancelled"
    ? { kind: "cancelled" }
    : failed(reason);
}
