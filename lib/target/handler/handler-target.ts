import type { JobHandler } from "../../job/define-job.ts";
import { type ReadPayload, readPayload, refuseUnfitPayload } from "../../job/read-payload.ts";
import { eachWithinLimit } from "../../job/schema-time.ts";
import { type ClaimedJob, isOfGroup } from "../../parcel/claimed-job.ts";
import { Refusal } from "../../refusal.ts";
import type { HandlerTarget } from "../../schedule/shape/target-shape.ts";
import { boundedAttempt, timeoutMsOf } from "../attempts.ts";
import { type Delivery, type DeliveryContext, type Failure, failed, thrown } from "../delivery.ts";
import { sideBySide } from "../side-by-side.ts";
import { attemptRun, type HandlerAttemptDeps, type HandlerRun } from "./handler-attempt.ts";
import type { Accept } from "./handler-schedules.ts";

export interface HandlerTargetDeps extends HandlerAttemptDeps {
  handlers: readonly JobHandler[];
  /** The module of the app's handlers could not be loaded: their jobs fail with this, and are retried. */
  fault?: Error | undefined;
}

type Job = ClaimedJob & { target: HandlerTarget };

/** A run, and the positions of its jobs in the parcel. */
interface PlacedRun extends HandlerRun {
  jobs: ClaimedJob[];
  payloads: unknown[];
  indexes: number[];
}

/**
 * Runs jobs with the handlers of functions/jobs/, side by side, each limited by its schedule's
 * `timeout`. A grouped handler gets the jobs of one group together.
 */
export function handlerTarget(
  deps: HandlerTargetDeps,
): (jobs: readonly Job[], context: DeliveryContext) => Promise<Delivery[]> {
  const byName = new Map(deps.handlers.map((handler) => [handler.name, handler]));
  const accept: Accept = (body) => {
    if ("handler" in body.target && !byName.has(body.target.handler))
      throw new Refusal("impossible", `There is no handler ${body.target.handler} in this deployment.`);
    refuseUnfitPayload(deps.handlers, body);
  };

  return async (jobs, context) => {
    const { runs, deliveries } = planned(jobs, byName, deps.fault);
    await sideBySide(runs, context.places, deps.clock, async (run) => {
      // A further async function for each job, as `timed` is, would cost a tenth of the whole.
      const from = deps.clock.now().getTime();
      const ended = await boundedRun(deps, run, context, accept);
      const ran = { from, to: deps.clock.now().getTime() };
      for (const job of run.jobs) context.worked?.(job, ran);
      for (const [position, index] of run.indexes.entries())
        deliveries[index] = Array.isArray(ended)
          ? ended[position]
          : ofJob(ended, run.jobs[position], context);
    });
    return deliveries.map((delivery) => delivery ?? { kind: "back" });
  };
}

interface Planned {
  runs: PlacedRun[];
  /** The deliveries of jobs that are not run; undefined for jobs that are. */
  deliveries: (Delivery | undefined)[];
}

interface Read {
  handler: JobHandler;
  payload: unknown;
}

function planned(
  jobs: readonly Job[],
  byName: ReadonlyMap<string, JobHandler>,
  fault: Error | undefined,
): Planned {
  const runs: PlacedRun[] = [];
  const together = new Map<string, PlacedRun>();
  const reads = eachWithinLimit(jobs, (job) => readFor(byName.get(job.target.handler), job, fault));
  const deliveries = jobs.map((job, index) => {
    const read = reads[index];
    if (read === undefined || "kind" in read) return read;
    const { handler } = read;
    const name = handler.grouped ? callOf(job) : null;
    const known = name === null ? undefined : together.get(name);
    if (known !== undefined) {
      known.jobs.push(job);
      known.payloads.push(read.payload);
      known.indexes.push(index);
      return undefined;
    }
    const run = { handler, jobs: [job], payloads: [read.payload], indexes: [index] };
    runs.push(run);
    if (name !== null) together.set(name, run);
    return undefined;
  });
  return { runs, deliveries };
}

/**
 * Names the call that a job of a grouped handler shares; null if the job is called alone. Its team is
 * part of the name: a schedule that a team has just got may still be in the lane of another one. A job
 * outside of such a lane comes while ticks follow a handler that has become grouped.
 */
function callOf(job: Job): string | null {
  return job.group !== null && isOfGroup(job) ? `${job.target.handler} ${job.team ?? ""} ${job.group}` : null;
}

function readFor(handler: JobHandler | undefined, job: Job, fault: Error | undefined): Read | Failure {
  if (handler === undefined && fault !== undefined) return failed(fault.message);
  if (handler === undefined) return failed(`There is no handler ${job.target.handler} in this deployment.`);
  const read = readOrThrown(handler, job);
  if ("kind" in read) return read;
  if (read.faults === null) return { handler, payload: read.payload };
  const named = read.faults.map(({ path, message }) => `${path}: ${message}`).join("; ");
  return {
    ...failed(`The handler ${handler.name} does not accept the payload: ${named}`, true),
    reason: "payload",
  };
}

/** A schema may contain code, and throw: then the attempt of this job alone has failed. */
function readOrThrown(handler: JobHandler, { payload }: Job): ReadPayload<unknown> | Failure {
  try {
    return readPayload(handler, payload);
  } catch (error) {
    return thrown(error);
  }
}

/**
 * The jobs of a call share one attempt, with the longest of their timeouts. Resolves with the
 * outcome of each, or with one for all.
 */
function boundedRun(
  deps: HandlerTargetDeps,
  run: HandlerRun,
  context: DeliveryContext,
  accept: Accept,
): Promise<Delivery[] | Delivery> {
  const { jobs } = run;
  const { timeout } = jobs.reduce((a, b) => (timeoutMsOf(b.timeout) > timeoutMsOf(a.timeout) ? b : a));
  const bounds = { timeout, stops: jobs.map((job) => context.stopOf(job)) };
  return boundedAttempt(bounds, context, deps.clock, (stop) =>
    attemptRun(deps, run, { parcel: context.parcel, stop, accept }),
  );
}

/**
 * If a group's run was stopped because one of its jobs is cancelled, the other jobs go back, and
 * run again without that one.
 */
function ofJob(ended: Delivery, job: ClaimedJob | undefined, { stopOf }: DeliveryContext): Delivery {
  const isAnothers =
    ended.kind === "cancelled" && job !== undefined && stopOf(job).reason?.why !== "cancelled";
  return isAnothers ? { kind: "back" } : ended;
}
