import { durationMs } from "../cadence/duration.ts";
import type { Clock } from "../clock.ts";
import type { JobHandler } from "../job/define-job.ts";
import { refuseUnfitPayload } from "../job/payload-faults.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import type { HandlerTarget } from "../schedule/target-shape.ts";
import { AttemptStopped, boundedAttempt } from "./attempts.ts";
import { type Delivery, type DeliveryContext, failed } from "./delivery.ts";
import { attemptRun, type HandlerAttemptDeps, type HandlerRun } from "./handler-attempt.ts";
import { sideBySide } from "./side-by-side.ts";

export interface HandlerTargetDeps extends HandlerAttemptDeps {
  handlers: readonly JobHandler[];
  clock: Clock;
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
    await sideBySide(runs, context.slots, deps.clock, async (run) => {
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
  const runs = new Map<string, PlacedRun & { jobs: ClaimedJob[] }>();
  for (const [index, job] of jobs.entries()) {
    const handler = byName.get(job.target.handler);
    if (handler === undefined || !isToRun(index)) continue;
    const together = handler.grouped && job.group !== null;
    const name = together ? `${handler.name} ${job.group}` : String(index);
    const run = runs.get(name) ?? { handler, jobs: [], indexes: [] };
    run.jobs.push(job);
    run.indexes.push(index);
    runs.set(name, run);
  }
  return [...runs.values()];
}

/** The jobs of a group share one attempt, with the longest of their timeouts. */
async function boundedRun(
  deps: HandlerTargetDeps,
  run: HandlerRun,
  context: DeliveryContext,
  accept: (body: ScheduleBody) => void,
): Promise<Delivery[]> {
  const { jobs } = run;
  const longest = jobs.reduce((a, b) =>
    (durationMs(b.timeout) ?? 0) > (durationMs(a.timeout) ?? 0) ? b : a,
  );
  const signals = jobs.map((job) => context.signalOf(job));
  const [stops = AbortSignal.any([])] = signals.length === 1 ? signals : [AbortSignal.any(signals)];
  const answered: Delivery = { kind: "done" };
  let ended: Delivery[] = [];
  const delivery = await boundedAttempt(
    longest,
    { ...context, signalOf: () => stops },
    deps.clock,
    async (_, signal) => {
      ended = await attemptRun(deps, run, { parcel: context.parcel, signal, accept });
      return answered;
    },
  );
  if (delivery === answered) return ended;
  return jobs.map((job) =>
    // Who was not asked to stop did nothing wrong, and starts anew without the one that was.
    delivery.kind === "cancelled" && !isCancelled(context.signalOf(job)) ? { kind: "back" } : delivery,
  );
}

function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof AttemptStopped && reason.why === "cancelled";
}
