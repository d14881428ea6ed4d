import type { AlarmClock } from "../clock.ts";
import type { JobHandler } from "../job/define-job.ts";
import { refuseUnfitPayload } from "../job/payload-faults.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import type { HandlerTarget } from "../schedule/target-shape.ts";
import { boundedAttempt, timeoutMsOf } from "./attempts.ts";
import { type Delivery, type DeliveryContext, failed } from "./delivery.ts";
import { attemptRun, type HandlerAttemptDeps, type HandlerRun } from "./handler-attempt.ts";
import { sideBySide } from "./side-by-side.ts";

export interface HandlerTargetDeps extends HandlerAttemptDeps {
  handlers: readonly JobHandler[];
  clock: AlarmClock;
}

type Job = ClaimedJob & { target: HandlerTarget };

/** A run, and where its jobs stand among those of the parcel. */
interface PlacedRun extends HandlerRun {
  indexes: number[];
}

/**
 * Runs jobs with the handlers of functions/jobs/, side by side, each bounded by its schedule's `timeout`. A grouped handler gets those
 * of one group together.
 */
export function handlerTarget(
  deps: HandlerTargetDeps,
): (jobs: readonly Job[], context: DeliveryContext) => Promise<Delivery[]> {
  const byName = new Map(deps.handlers.map((handler) => [handler.name, handler]));
  const accept = (body: ScheduleBody) => {
    if ("handler" in body.target && !byName.has(body.target.handler))
      throw new Refusal("impossible", `There is no handler ${body.target.handler} in this deployment.`);
    refuseUnfitPayload(deps.handlers, body);
  };

  return async (jobs, context) => {
    const deliveries = jobs.map((job) => refusal(byName.get(job.target.handler), job));
    const runs = runsOf(jobs, byName, (index) => deliveries[index] === undefined);
    await sideBySide(runs, context.places, deps.clock, async (run) => {
      const ended = await boundedRun(deps, run, context, accept);
      for (const [position, index] of run.indexes.entries()) deliveries[index] = ended[position];
    });
    return deliveries.map((delivery) => delivery ?? { kind: "back" });
  };
}

/** Why a job is not run at all; undefined where it is. */
function refusal(handler: JobHandler | undefined, job: Job): Delivery | undefined {
  if (handler === undefined) return failed(`There is no handler ${job.target.handler} in this deployment.`);
  const faults = handler.payloadFaults(job.payload);
  if (faults.length === 0) return undefined;
  const named = faults.map(({ path, message }) => `${path}: ${message}`).join("; ");
  return {
    ...failed(`The payload is not what the handler ${handler.name} takes: ${named}`, true),
    reason: "payload",
  };
}

function runsOf(
  jobs: readonly Job[],
  byName: ReadonlyMap<string, JobHandler>,
  isToRun: (index: number) => boolean,
): PlacedRun[] {
  const runs: PlacedRun[] = [];
  const together = new Map<string, PlacedRun & { jobs: ClaimedJob[] }>();
  for (const [index, job] of jobs.entries()) {
    const handler = byName.get(job.target.handler);
    if (handler === undefined || !isToRun(index)) continue;
    const name = handler.grouped && job.group !== null ? `${handler.name} ${job.group}` : null;
    const known = name === null ? undefined : together.get(name);
    if (known !== undefined) {
      known.jobs.push(job);
      known.indexes.push(index);
      continue;
    }
    const run = { handler, jobs: [job], indexes: [index] };
    runs.push(run);
    if (name !== null) together.set(name, run);
  }
  return runs;
}

/** The jobs of a group share one attempt, with the longest of their timeouts. */
async function boundedRun(
  deps: HandlerTargetDeps,
  run: HandlerRun,
  context: DeliveryContext,
  accept: (body: ScheduleBody) => void,
): Promise<Delivery[]> {
  const { jobs } = run;
  const { timeout } = jobs.reduce((a, b) => (timeoutMsOf(b.timeout) > timeoutMsOf(a.timeout) ? b : a));
  const bounds = { timeout, stops: jobs.map((job) => context.stopOf(job)) };
  const ended = await boundedAttempt(bounds, context, deps.clock, (stop) =>
    attemptRun(deps, run, { parcel: context.parcel, stop, accept }),
  );
  if (Array.isArray(ended)) return ended;
  return jobs.map((job) =>
    // Who was not asked to stop did nothing wrong, and starts anew without the one that was.
    ended.kind === "cancelled" && context.stopOf(job).reason?.why !== "cancelled" ? { kind: "back" } : ended,
  );
}
