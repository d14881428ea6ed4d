import type { ClaimedJob } from "../parcel/claim.ts";
import type {
  EventTarget,
  HandlerTarget,
  LambdaTarget,
  QueueTarget,
  Target,
} from "../schedule/target-shape.ts";
import type { WebhookTarget } from "../schedule/target-webhook-shape.ts";
import { type Deliver, type Delivery, type DeliveryContext, failed } from "./delivery.ts";

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

/** Delivers the jobs of a parcel, each to its kind of target, all kinds at once. */
export function deliverTo(targets: Targets): Deliver {
  return async (jobs, context) => {
    const deliveries: Delivery[] = jobs.map(() => failed("The job was not delivered to any target."));
    const take = async <Own extends Target>(isOwn: (target: Target) => target is Own, send: To<Own>) => {
      const own = jobs.flatMap((job, index) =>
        isOwn(job.target) ? [{ index, job: { ...job, target: job.target } }] : [],
      );
      if (own.length === 0) return;
      const outcomes = await send(
        own.map(({ job }) => job),
        context,
      );
      for (const [position, { index }] of own.entries())
        deliveries[index] = outcomes[position] ?? failed("The target gave no answer.");
    };
    await Promise.all([
      take((target) => "queue" in target, targets.queue),
      take((target) => "event" in target, targets.event),
      take((target) => "handler" in target, targets.handler),
      take((target) => "webhook" in target, targets.webhook),
      take((target) => "lambda" in target, targets.lambda),
    ]);
    return deliveries;
  };
}
