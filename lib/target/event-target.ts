import { type EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import type { Clock } from "../clock.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import type { EventTarget } from "../schedule/target-shape.ts";
import { type Delivery, done, eachRequest, failed, requests } from "./delivery.ts";
import { envelope } from "./envelope.ts";

export interface EventTargetDeps {
  events: EventBridgeClient;
  clock: Clock;
}

interface Entry {
  index: number;
  detail: string;
  bytes: number;
  time: Date;
  target: EventTarget["event"];
}

/** Puts jobs as events on the buses that their targets name. */
export function eventTarget({
  events,
  clock,
}: EventTargetDeps): (jobs: readonly (ClaimedJob & { target: EventTarget })[]) => Promise<Delivery[]> {
  return async (jobs) => {
    const deliveries: Delivery[] = jobs.map(() =>
      failed("EventBridge did not say what became of the event."),
    );
    const entries = jobs.map((job, index): Entry => {
      const detail = envelope(job, clock.now());
      return {
        index,
        detail,
        bytes: Buffer.byteLength(detail) + 300,
        time: job.dueAt,
        target: job.target.event,
      };
    });
    // A bus that may not be written to is refused with its whole request: no other bus shares it.
    const byBus = [...Map.groupBy(entries, ({ target }) => target.bus).values()];
    await eachRequest(byBus.flatMap(requests), async (batch) => {
      for (const [index, delivery] of await putBatch(events, batch)) deliveries[index] = delivery;
    });
    return deliveries;
  };
}

/** The answer names no entries: its list has the order of the request. */
async function putBatch(events: EventBridgeClient, batch: readonly Entry[]): Promise<[number, Delivery][]> {
  try {
    const { Entries = [] } = await events.send(
      new PutEventsCommand({
        Entries: batch.map(({ detail, time, target }) => ({
          EventBusName: target.bus,
          Source: target.source,
          DetailType: target.detailType,
          Time: time,
          Detail: detail,
        })),
      }),
    );
    return batch.map(({ index }, position): [number, Delivery] => {
      const answer = Entries[position];
      if (answer?.EventId !== undefined) return [index, done];
      return [
        index,
        failed(
          `EventBridge refused the event: ${answer?.ErrorCode ?? "no answer"} ${answer?.ErrorMessage ?? ""}`,
        ),
      ];
    });
  } catch (error) {
    return batch.map(({ index }): [number, Delivery] => [index, failed(error)]);
  }
}
