import type { EventTarget, QueueTarget } from "../schedule/shape/target-shape.ts";
import { type Failure, failed, type Sent } from "./delivery.ts";
import { idOf, keyOf } from "./pulse-envelope.ts";
import type { PutEvents } from "./put-events.ts";
import type { QueueMessage, SendMessages } from "./send-messages.ts";

/** Envelopes for one target. */
export interface PulsesToSend {
  target: QueueTarget | EventTarget;
  envelopes: readonly string[];
}

/** The outcomes of the envelopes of one target. */
export interface PulsesSent {
  taken: number;
  /** Envelopes that may be tried again. */
  failed: string[];
  /** Envelopes that a retry cannot help. */
  refused: number;
  /** The ids of envelopes that cannot be made into a message. No request was made for them. */
  unmade: string[];
  /** The failure of the last envelope that was not taken. */
  failure: Failure | null;
}

/**
 * Sends pulses that are due together, and returns the outcomes of each target in the same order.
 */
export type SendPulses = (
  pulses: readonly PulsesToSend[],
  due: Date,
  timeLeftMs: () => number,
) => Promise<PulsesSent[]>;

/** One message, and its envelopes. */
interface Packed<Message> {
  /** The index of its target. */
  own: number;
  envelopes: readonly string[];
  message: Message;
}

export function pulseSender({ send, put }: { send: SendMessages; put: PutEvents }): SendPulses {
  return async (pulses, due, timeLeftMs) => {
    const outcomes = pulses.map(
      (): PulsesSent => ({ taken: 0, failed: [], refused: 0, unmade: [], failure: null }),
    );
    const queued = pulses.flatMap(({ target, envelopes }, own) => {
      if (!("queue" in target)) return [];
      const { packs, unmade } = packed(target, envelopes);
      outcomes[own]?.unmade.push(...unmade);
      return packs.map((each) => ({ own, ...each }));
    });
    const events = pulses.flatMap(({ target, envelopes }, own) =>
      "event" in target
        ? envelopes.map((envelope) => ({
            own,
            envelopes: [envelope],
            message: { detail: envelope, time: due, target },
          }))
        : [],
    );
    const [messagesSent, eventsSent] = await Promise.all([
      send(
        queued.map(({ message }) => message),
        timeLeftMs,
      ),
      put(
        events.map(({ message }) => message),
        timeLeftMs,
      ),
    ]);
    note(outcomes, queued, messagesSent);
    note(outcomes, events, eventsSent);
    return outcomes;
  };
}

const unsent = failed("It was not sent: time was short, or a message ahead of it in its group was refused.");

function note(outcomes: PulsesSent[], packs: readonly Packed<unknown>[], sent: readonly Sent[]): void {
  for (const [index, { own, envelopes }] of packs.entries()) {
    const [outcome, each] = [outcomes[own], sent[index]];
    if (outcome === undefined || each === undefined) throw new Error("There is no outcome for a pulse.");
    if (each.kind === "done") outcome.taken += envelopes.length;
    else if (each.kind === "failed" && each.giveUp) outcome.refused += envelopes.length;
    else outcome.failed.push(...envelopes);
    if (each.kind !== "done") outcome.failure = each.kind === "failed" ? each : unsent;
  }
}

type PackedMessage = Omit<Packed<QueueMessage>, "own">;

function packed(
  target: QueueTarget,
  envelopes: readonly string[],
): { packs: PackedMessage[]; unmade: string[] } {
  if (target.batch === undefined) return packedAlone(target, envelopes);
  const batchTarget = asBatches(target);
  // FIFO queues take no batches: their messages need an id and an order, and a batch holds
  // envelopes of many schedules.
  const packs = batches(envelopes, target.batch).map((batch) => ({
    envelopes: batch,
    message: { body: `[${batch.join(",")}]`, target: batchTarget, id: "", orderedBy: "" },
  }));
  return { packs, unmade: [] };
}

function packedAlone(target: QueueTarget, envelopes: readonly string[]) {
  const isFifo = target.queue.endsWith(".fifo");
  const packs: PackedMessage[] = [];
  const unmade: string[] = [];
  for (const body of envelopes) {
    const key = isFifo ? keyOf(body) : "";
    if (key === null) unmade.push(idOf(body));
    else packs.push({ envelopes: [body], message: { body, target, id: idOf(body), orderedBy: key } });
  }
  return { packs, unmade };
}

const messageBytesMax = 240_000;

function batches(envelopes: readonly string[], size: number): string[][] {
  const all: string[][] = [];
  let batch: string[] = [];
  let bytes = 0;
  for (const envelope of envelopes) {
    const own = Buffer.byteLength(envelope) + 1;
    if (batch.length === size || (batch.length > 0 && bytes + own > messageBytesMax)) {
      all.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(envelope);
    bytes += own;
  }
  if (batch.length > 0) all.push(batch);
  return all;
}

const contentType = "application/cloudevents-batch+json";
/** SQS takes no more attributes; if the target has that many, `content-type` is left out. */
const attributesMax = 10;

function asBatches(target: QueueTarget): QueueTarget {
  const { attributes = {} } = target;
  if (Object.keys(attributes).length >= attributesMax) return target;
  return { ...target, attributes: { ...attributes, "content-type": contentType } };
}
