import type { Clock } from "../clock.ts";
import { type ClaimedJob, receiversId } from "../parcel/claimed-job.ts";
import type { Ran } from "../parcel/own-times.ts";
import type { QueueTarget } from "../schedule/shape/target-shape.ts";
import type { Delivery, DeliveryContext } from "./delivery.ts";
import { envelope } from "./envelope.ts";
import { sendMade } from "./made-messages.ts";
import { type MessageSenderDeps, messageSender } from "./send-messages.ts";

export interface QueueTargetDeps extends MessageSenderDeps {
  clock: Clock;
}

/** Sends jobs as messages to the SQS queues that their targets name. */
export function queueTarget(
  deps: QueueTargetDeps,
): (
  jobs: readonly (ClaimedJob & { target: QueueTarget })[],
  context: Pick<DeliveryContext, "timeLeftMs" | "worked">,
) => Promise<Delivery[]> {
  const send = messageSender(deps);
  return async (jobs, { timeLeftMs, worked }) => {
    const now = deps.clock.now();
    // Ordered by key: the jobs of one schedule arrive in order.
    const message = (job: ClaimedJob & { target: QueueTarget }) => {
      const id = receiversId(job);
      return {
        body: envelope(job, now, id),
        target: job.target,
        id,
        orderedBy: job.key,
        worked: (ran: Ran) => worked?.(job, ran),
      };
    };
    return sendMade(jobs, message, (messages) => send(messages, timeLeftMs));
  };
}
