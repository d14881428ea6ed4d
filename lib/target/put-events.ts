import { type EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import type { Clock } from "../clock.ts";
import type { Ran } from "../parcel/own-times.ts";
import { eventFaults } from "../schedule/shape/event-names.ts";
import type { EventTarget } from "../schedule/shape/target-shape.ts";
import { done, eachRequest, type Failure, failed, requests, type Sent, timed } from "./delivery.ts";
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

export interface EventSenderDeps {
  events: EventBridgeClient;
  clock: Pick<Clock, "now">;
  /**
   * The sources that schedules may use. They are checked again here, because the stored target may be
   * older than the list.
   */
  sources: readonly string[];
}

export function eventSender({ events: client, clock, sources }: EventSenderDeps): PutEvents {
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
    const outcomes: Sent[] = events.map(({ target }) => forbidden(sources, target) ?? unanswered);
    const entries = events
      .map((event, index): Entry => ({ ...event, index, bytes: Buffer.byteLength(event.detail) + 300 }))
      .filter(({ index }) => outcomes[index] === unanswered);
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

/** The failure of an event that this deployment may not send. A retry cannot help. */
function forbidden(sources: readonly string[], { event }: EventTarget): Failure | null {
  const faults = eventFaults(sources, event).map(({ path, message }) => `${path} ${message}`);
  return faults.length === 0 ? null : failed(`The event was not sent: ${faults.join("; ")}.`, true);
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
