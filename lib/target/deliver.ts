import type { ClaimedJob } from "../parcel/claim.ts";
import type { EventTarget, HandlerTarget, QueueTarget } from "../schedule/target-shape.ts";
import { type Deliver, type Delivery, failed } from "./delivery.ts";

type To<Target> = (jobs: readonly (ClaimedJob & { target: Target })[]) => Promise<Delivery[]>;

export interface Targets {
  queue: To<QueueTarget>;
  event: To<EventTarget>;
  handler: To<HandlerTarget>;
}

/** Delivers the jobs of a parcel, each to its kind of target, all kinds at once. */
export function deliverTo(targets: Targets): Deliver {
  return async (jobs) => {
    const deliveries: Delivery[] = jobs.map(() => failed("The job was not delivered to any target."));
    const toQueues = jobs.flatMap((job, index) =>
      "queue" in job.target ? [{ index, job: { ...job, target: job.target } }] : [],
    );
    const toBuses = jobs.flatMap((job, index) =>
      "event" in job.target ? [{ index, job: { ...job, target: job.target } }] : [],
    );
    const toHandlers = jobs.flatMap((job, index) =>
      "handler" in job.target ? [{ index, job: { ...job, target: job.target } }] : [],
    );
    const take = async <Own>(
      own: readonly { index: number; job: Own }[],
      send: (jobs: Own[]) => Promise<Delivery[]>,
    ) => {
      if (own.length === 0) return;
      const outcomes = await send(own.map(({ job }) => job));
      for (const [position, { index }] of own.entries())
        deliveries[index] = outcomes[position] ?? failed("The target gave no answer.");
    };
    await Promise.all([
      take(toQueues, targets.queue),
      take(toBuses, targets.event),
      take(toHandlers, targets.handler),
    ]);
    return deliveries;
  };
}
