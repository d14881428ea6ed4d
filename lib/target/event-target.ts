import type { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import type { Clock } from "../clock.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type { Ran } from "../parcel/own-times.ts";
import type { EventTarget } from "../schedule/shape/target-shape.ts";
import type { Delivery, DeliveryContext } from "./delivery.ts";
import { envelope } from "./envelope.ts";
import { sendMade } from "./made-messages.ts";
import { eventSender } from "./put-events.ts";

export interface EventTargetDeps {
  events: EventBridgeClient;
  clock: Clock;
}

/** Puts jobs as events on the buses that their targets name. */
export function eventTarget({
  events,
  clock,
}: EventTargetDeps): (
  jobs: readonly (ClaimedJob & { target: EventTarget })[],
  context: Pick<DeliveryContext, "timeLeftMs" | "worked">,
) => Promise<Delivery[]> {
  const put = eventSender(events, clock);
  return async (jobs, { timeLeftMs, worked }) =>
    sendMade(
      jobs,
      (job) => ({
        detail: envelope(job, clock.now()),
        time: job.dueAt,
        target: job.target,
        worked: (ran: Ran) => worked?.(job, ran),
      }),
      (events) => put(events, timeLeftMs),
    );
}
