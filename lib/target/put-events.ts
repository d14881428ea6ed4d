import { type EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import type { EventTarget } from "../schedule/target-shape.ts";
import { done, eachRequest, failed, requests, type Sent, thrown } from "./delivery.ts";

/** What is to be one event on the bus that its target names. */
export interface BusEvent {
  detail: string;
  time: Date;
  target: EventTarget;
}

/** Puts events, and says of each how it went, in the same order. */
export type PutEvents = (events: readonly BusEvent[]) => Promise<Sent[]>;

interface Entry extends BusEvent {
  index: number;
  bytes: number;
}

export function eventSender(client: EventBridgeClient): PutEvents {
  return async (events) => {
    const outcomes: Sent[] = events.map(() => failed("EventBridge did not say what became of the event."));
    const entries = events.map(
      (event, index): Entry => ({ ...event, index, bytes: Buffer.byteLength(event.detail) + 300 }),
    );
    // A bus that may not be written to is refused with its whole request: no other bus shares it.
    const byBus = [...Map.groupBy(entries, ({ target }) => target.event.bus).values()];
    await eachRequest(byBus.flatMap(requests), async (batch) => {
      for (const [index, outcome] of await putBatch(client, batch)) outcomes[index] = outcome;
    });
    return outcomes;
  };
}

/** The answer names no entries: its list has the order of the request. */
async function putBatch(client: EventBridgeClient, batch: readonly Entry[]): Promise<[number, Sent][]> {
  try {
    const { Entries = [] } = await client.send(
      new PutEventsCommand({
        Entries: batch.map(({ detail, time, target: { event } }) => ({
          EventBusName: event.bus,
          Source: event.source,
          DetailType: event.detailType,
          Time: time,
          Detail: detail,
        })),
      }),
    );
    return batch.map(({ index }, position) => {
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
    return batch.map(({ index }) => [index, thrown(error)]);
  }
}
