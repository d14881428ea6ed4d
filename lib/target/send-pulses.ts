import type { EventTarget, QueueTarget } from "../schedule/shape/target-shape.ts";
import { type Failure, failed, type Sent } from "./delivery.ts";
import type { PutEvents } from "./put-events.ts";
import type { QueueMessage, SendMessages } from "./send-messages.ts";

/** Envelopes that go to one target. */
export interface PulsesToSend {
  target: QueueTarget | EventTarget;
  envelopes: readonly string[];
}

/** What became of those of one target. */
export interface PulsesSent {
  taken: number;
  /** May be tried again. */
  failed: string[];
  /** Trying again cannot mend it. */
  refused: number;
  /** Of those that cannot be made into a message: their ids. The target was not asked. */
  unmade: string[];
  /** Why the last of those that were not taken was not. */
  failure: Failure | null;
}

/** Hands over pulses that are due together, and says of each target how it went, in the same order. */
export type SendPulses = (
  pulses: readonly PulsesToSend[],
  due: Date,
  timeLeftMs: () => number,
) => Promise<PulsesSent[]>;

/** One message, and what is in it. */
interface Packed<Message> {
  /** Whose: the place among the targets. */
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
  // Not for FIFO queues, so that nobody asks for an id and an order of what belongs to many schedules.
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

/** An envelope begins with its id, and no id has a character that JSON escapes. */
const idAt = '{"id":"'.length;

function idOf(envelope: string): string {
  return envelope.slice(idAt, envelope.indexOf('"', idAt));
}

/** Null where the envelope is no JSON: its row is from before the database refused such a row, or is damaged. */
function keyOf(envelope: string): string | null {
  try {
    const { subject }: { subject: string } = JSON.parse(envelope);
    return subject;
  } catch {
    return null;
  }
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
/** SQS takes no more; where the target has as many of its own, theirs go. */
const attributesMax = 10;

function asBatches(target: QueueTarget): QueueTarget {
  const { attributes = {} } = target;
  if (Object.keys(attributes).length >= attributesMax) return target;
  return { ...target, attributes: { ...attributes, "content-type": contentType } };
}
