import type { TargetPrefix } from "../config/target-settings.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type {
  EventTarget,
  HandlerTarget,
  LambdaTarget,
  QueueTarget,
  Target,
} from "../schedule/shape/target-shape.ts";
import type { WebhookTarget } from "../schedule/shape/target-webhook-shape.ts";
import { isStoredTarget, kindOf } from "../schedule/stored/stored-target.ts";
import { type Deliver, type Delivery, type DeliveryContext, type Failure, failed } from "./delivery.ts";
import { pathsOfOtherKeys } from "./target-prefixes.ts";

type To<Own> = (
  jobs: readonly (ClaimedJob & { target: Own })[],
  context: DeliveryContext,
) => Promise<Delivery[]>;

export interface Targets {
  queue: To<QueueTarget>;
  event: To<EventTarget>;
  handler: To<HandlerTarget>;
  webhook: To<WebhookTarget>;
  lambda: To<LambdaTarget>;
}

/**
 * Delivers the jobs of a parcel, each to its kind of target, all kinds at once. A job whose stored
 * target cannot be read fails alone and is not sent, and its next attempt reads the stored target
 * again. So does a job whose target is for other keys: the list may be newer than its schedule, and a
 * handler's edits are not checked by it.
 */
export function deliverTo(targets: Targets, prefixes: readonly TargetPrefix[] = []): Deliver {
  const deliver = deliverByKind(targets);
  return async (jobs, context) => {
    const faults = jobs.map((job) => faultOf(job, prefixes));
    if (faults.every((fault) => fault === null)) return deliver(jobs, context);
    const sound = jobs.filter((_, index) => faults[index] === null);
    const delivered = (await deliver(sound, context)).values();
    return faults.map((fault) => fault ?? delivered.next().value ?? noAnswer());
  };
}

function faultOf({ target, key }: ClaimedJob, prefixes: readonly TargetPrefix[]): Failure | null {
  if (!isStoredTarget(target)) return failed(`The stored target cannot be read: it is ${kindOf(target)}.`);
  const paths = pathsOfOtherKeys(prefixes, target, key);
  if (paths.length === 0) return null;
  return failed(`${paths.join(" and ")} is for schedules with other keys alone (targetPrefixes).`, true);
}

function deliverByKind(targets: Targets): Deliver {
  const kinds = [
    kind((target) => "queue" in target, targets.queue),
    kind((target) => "event" in target, targets.event),
    kind((target) => "handler" in target, targets.handler),
    kind((target) => "webhook" in target, targets.webhook),
    kind((target) => "lambda" in target, targets.lambda),
  ];
  return async (jobs, context) => {
    if (jobs.length === 0) return [];
    // Nearly every parcel has one kind of target, and is passed on unchanged.
    for (const { sendAll } of kinds) {
      const outcomes = await sendAll(jobs, context);
      if (outcomes !== null) return jobs.map((_, index) => outcomes[index] ?? noAnswer());
    }
    const parts = await Promise.all(kinds.map(({ sendOwn }) => sendOwn(jobs, context)));
    const delivered = new Map(parts.flat());
    return jobs.map((job) => delivered.get(job) ?? failed("The job was not delivered to any target."));
  };
}

interface Kind {
  /** Null, and nothing sent, unless all of the jobs are of this kind. */
  sendAll(jobs: readonly ClaimedJob[], context: DeliveryContext): Promise<Delivery[] | null>;
  /** Sends the jobs of this kind, and returns their outcomes. */
  sendOwn(jobs: readonly ClaimedJob[], context: DeliveryContext): Promise<[ClaimedJob, Delivery][]>;
}

function kind<Own extends Target>(isOwn: (target: Target) => target is Own, send: To<Own>): Kind {
  const isOfKind = (job: ClaimedJob): job is ClaimedJob & { target: Own } => isOwn(job.target);
  return {
    sendAll: async (jobs, context) => (jobs.every(isOfKind) ? send(jobs, context) : null),
    sendOwn: async (jobs, context) => {
      const own = jobs.filter(isOfKind);
      const outcomes = own.length === 0 ? [] : await send(own, context);
      return own.map((job, index) => [job, outcomes[index] ?? noAnswer()]);
    },
  };
}

function noAnswer(): Failure {
  return failed("The target returned no outcome.");
}
