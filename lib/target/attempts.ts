import { BoundedMap } from "../bounded-map.ts";
import { durationMs } from "../cadence/duration.ts";
import type { AlarmClock } from "../clock.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import { type Delivery, type DeliveryContext, thrown, timed } from "./delivery.ts";
import { sideBySide } from "./side-by-side.ts";
import { AttemptStopped, Stop } from "./stop.ts";

/** The time before the end of the invocation that is reserved for settling the attempt. */
export const settleMs = 3_000;

/**
 * Runs the attempts of jobs side by side, as many at once as there are places, each within its
 * schedule's timeout. An attempt that goes on after its stop is not waited for. Jobs that could not
 * start in time are handed back.
 */
export async function eachAttempt<Job extends ClaimedJob>(
  jobs: readonly Job[],
  context: DeliveryContext,
  clock: AlarmClock,
  attempt: (job: Job, stop: Stop) => Promise<Delivery>,
): Promise<Delivery[]> {
  const deliveries: Delivery[] = jobs.map(() => ({ kind: "back" }));
  await sideBySide(jobs, context.places, clock, async (job, index) => {
    const bounds = { timeout: job.timeout, stops: [context.stopOf(job)] };
    deliveries[index] = await timed(
      clock,
      () => boundedAttempt(bounds, context, clock, (stop) => attempt(job, stop)),
      (ran) => context.worked?.(job, ran),
    );
  });
  return deliveries;
}

interface Bounds {
  timeout: string;
  /** The stops of its jobs: the first that comes ends the attempt. */
  stops: readonly Stop[];
}

/**
 * Runs one attempt, of one job or of several jobs together. Resolves with its answer, or with the
 * outcome that replaces a missing answer.
 */
export function boundedAttempt<Answer>(
  { timeout, stops }: Bounds,
  context: Pick<DeliveryContext, "timeLeftMs">,
  clock: AlarmClock,
  attempt: (stop: Stop) => Promise<Answer>,
): Promise<Answer | Delivery> {
  const timeoutMs = timeoutMsOf(timeout);
  const roomMs = context.timeLeftMs() - settleMs;
  const cannotStart = roomMs <= 0 || (roomMs < timeoutMs && roomMs < worthStartingMs);
  if (cannotStart || stops.some(({ reason }) => reason !== undefined))
    return Promise.resolve({ kind: "back" });
  return new Promise((resolve) => {
    const own = new Stop();
    const end = (outcome: Answer | Delivery) => {
      disarm();
      for (const stop of stops) stop.tellNoMore(stopFor);
      resolve(outcome);
    };
    const stopFor = (reason: AttemptStopped) => {
      own.come(reason);
      end(stoppedFor(reason));
    };
    const disarm = clock.alarm(Math.min(timeoutMs, roomMs), () =>
      stopFor(timeUp(timeout, timeoutMs, roomMs)),
    );
    for (const stop of stops) stop.tell(stopFor);
    attempt(own).then(end, (error: unknown) => end(thrown(error)));
  });
}

/** An attempt with less than its whole timeout is still worth starting with this much time. */
const worthStartingMs = 30_000;

const timeoutsKept = 100;
/** Parsed timeouts: jobs have few different ones. */
const timeouts = new BoundedMap<string, number>(timeoutsKept);

export function timeoutMsOf(timeout: string): number {
  const known = timeouts.get(timeout);
  if (known !== undefined) return known;
  const ms = durationMs(timeout) ?? 0;
  timeouts.set(timeout, ms);
  return ms;
}

function timeUp(timeout: string, timeoutMs: number, roomMs: number): AttemptStopped {
  return timeoutMs <= roomMs
    ? new AttemptStopped("timeout", `The attempt took longer than ${timeout}.`)
    : new AttemptStopped("out-of-time", "The worker ran out of time.");
}

function stoppedFor(reason: AttemptStopped): Delivery {
  return reason.why === "cancelled" ? { kind: "cancelled" } : thrown(reason);
}
