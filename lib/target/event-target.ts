import type { Clock } from "../clock.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type { Ran } from "../parcel/own-times.ts";
import type { EventTarget } from "../schedule/shape/target-shape.ts";
import type { Delivery, DeliveryContext } from "./delivery.ts";
import { envelope } from "./envelope.ts";
import { sendMade } from "./made-messages.ts";
import { type EventSenderDeps, eventSender } from "./put-events.ts";

export interface EventTargetDeps extends EventSenderDeps {
  clock: Clock;
}

/** Puts jobs as events on the buses that their targets name. */
export function eventTarget(
  deps: EventTargetDeps,
): (
  jobs: readonly (ClaimedJob & { target: EventTarget })[],
  context: Pick<DeliveryContext, "timeLeftMs" | "worked">,
) => Promise<Delivery[]> {
  const { clock } = deps;
  const put = eventSender(deps);
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
