import { type EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import type { Clock } from "../clock.ts";
import type { Ran } from "../parcel/own-times.ts";
import type { EventTarget } from "../schedule/shape/target-shape.ts";
import { done, eachRequest, failed, requests, type Sent, timed } from "./delivery.ts";
import { inParts } from "./in-parts.ts";
import { Sending } from "./sending.ts";

/** One event, and the target that names its bus. */
export interface BusEvent {
  detail: string;
  time: Date;
  target: EventTarget;
  /** Receives the times of its request. */
  worked?: ((ran: Ran) => void) | undefined;
}

/** Puts events and returns their outcomes in the same order. */
export type PutEvents = (events: readonly BusEvent[], timeLeftMs: () => number) => Promise<Sent[]>;

interface Entry extends BusEvent {
  index: number;
  bytes: number;
}

export function eventSender(client: EventBridgeClient, clock: Pick<Clock, "now">): PutEvents {
  const put = (batch: readonly Entry[]) =>
    timed(
      clock,
      () => putBatch(client, batch),
      (ran) => {
        for (const { worked } of batch) worked?.(ran);
      },
    );
  return async (events, timeLeftMs) => {
    const sending = new Sending(timeLeftMs);
    const outcomes: Sent[] = events.map(() => unanswered);
    const entries = events.map(
      (event, index): Entry => ({ ...event, index, bytes: Buffer.byteLength(event.detail) + 300 }),
    );
    // EventBridge refuses a whole request for a bus without permission, so no other bus shares it.
    const byBus = [...Map.groupBy(entries, ({ target }) => target.event.bus).values()];
    await eachRequest(byBus.flatMap(requests), async (batch) => {
      const { over } = sending;
      const sent = over === undefined ? await inParts(batch, put) : batch.map(() => over);
      sending.heard(sent);
      for (const [place, { index }] of batch.entries()) outcomes[index] = sent[place] ?? unanswered;
    });
    return outcomes;
  };
}

const unanswered = failed("EventBridge returned no outcome for the event.");

/** The entries of the answer have no ids: they have the order of the request. */
async function putBatch(client: EventBridgeClient, batch: readonly Entry[]): Promise<Sent[]> {
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
  return batch.map((_, position) => {
    const answer = Entries[position];
    if (answer?.EventId !== undefined) return done;
    return failed(
      `EventBridge refused the event: ${answer?.ErrorCode ?? "no answer"} ${answer?.ErrorMessage ?? ""}`,
    );
  });
}
