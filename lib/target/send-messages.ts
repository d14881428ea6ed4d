import { createHash } from "node:crypto";
import {
  GetQueueUrlCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import type { Clock } from "../clock.ts";
import type { Ran } from "../parcel/own-times.ts";
import { attributeBytes, type QueueTarget } from "../schedule/shape/target-shape.ts";
import { done, eachRequest, failed, requests, type Sent, thrown, timed } from "./delivery.ts";
import { gathered, type SendRequest } from "./gather-requests.ts";
import { inParts } from "./in-parts.ts";
import { Sending } from "./sending.ts";

export interface MessageSenderDeps {
  clock: Pick<Clock, "now">;
  sqs: SQSClient;
  /** The queues of Carillon's own parcels, which are no targets of schedules. */
  ownUrls: readonly string[];
}

/** One message, and the target that names its queue. */
export interface QueueMessage {
  body: string;
  target: QueueTarget;
  /** A FIFO queue drops a second message with the same id for five minutes. */
  id: string;
  /**
   * In a FIFO queue whose target names no group, messages with the same text here arrive in order.
   */
  orderedBy: string;
  /** Receives the times of its request. */
  worked?: ((ran: Ran) => void) | undefined;
}

/** Sends messages and returns their outcomes in the same order. */
export type SendMessages = (messages: readonly QueueMessage[], timeLeftMs: () => number) => Promise<Sent[]>;

interface Entry extends QueueMessage {
  index: number;
  bytes: number;
}

/** Sends one call's messages to one queue. */
type SendEntries = (entries: readonly Entry[], sending: Sending) => Promise<Sent[]>;

export function messageSender(deps: MessageSenderDeps): SendMessages {
  const isOwn = oneOf(deps.ownUrls);
  const urls = new Map<string, Promise<string>>();
  const urlOf = (queue: string) => {
    const known = urls.get(queue);
    if (known !== undefined) return known;
    const finding = findUrl(deps.sqs, queue);
    urls.set(queue, finding);
    finding.catch(() => urls.delete(queue));
    return finding;
  };
  const senders = new Map<string, SendEntries>();
  const sendTo = (url: string) => {
    const known = senders.get(url);
    if (known !== undefined) return known;
    const send = (batch: readonly Entry[]) =>
      timed(
        deps.clock,
        () => sendBatch(deps.sqs, url, batch),
        (ran) => {
          for (const { worked } of batch) worked?.(ran);
        },
      );
    const whole: SendRequest<Entry> = (batch) =>
      send(batch).catch((error: unknown) => batch.map(() => thrown(error)));
    const parts: SendRequest<Entry> = (batch) => inParts(batch, send);
    // The order of arrival matters only in a FIFO queue. There the second half of a refused request
    // would overtake the first.
    const sender = url.endsWith(".fifo") ? inOrder(whole) : gathered(parts);
    senders.set(url, sender);
    return sender;
  };
  const sendToQueue = async (queue: string, entries: readonly Entry[], sending: Sending) => {
    const { over } = sending;
    if (over !== undefined) return entries.map(() => over);
    const url = await urlOf(queue).catch((error: unknown) => thrown(error, error instanceof OtherRegion));
    if (typeof url === "string")
      return isOwn(url)
        ? entries.map(() => failed("This is one of Carillon's own queues.", true))
        : sendTo(url)(entries, sending);
    sending.heard([url]);
    return entries.map(() => url);
  };

  return async (messages, timeLeftMs) => {
    const sending = new Sending(timeLeftMs);
    const outcomes: Sent[] = messages.map(() => unanswered);
    const byQueue = Map.groupBy(messages.map(entry), ({ target }) => target.queue);
    await eachRequest([...byQueue], async ([queue, entries]) => {
      const sent = await sendToQueue(queue, entries, sending);
      for (const [place, { index }] of entries.entries()) outcomes[index] = sent[place] ?? unanswered;
    });
    return outcomes;
  };
}

const unanswered = failed("SQS returned no outcome for the message.");

/**
 * Sends one request after the other. A message behind a refused one of its message group is not
 * sent, since it would arrive first.
 */
function inOrder(send: SendRequest<Entry>): SendEntries {
  return async (entries, sending) => {
    const sent: Sent[] = [];
    const refused = new Set<string>();
    for (const batch of requests(entries)) {
      const { over } = sending;
      const told = new Map<Entry, Sent>();
      const free = batch.filter((each) => over === undefined && !refused.has(messageGroup(each)));
      const outcomes = free.length === 0 ? [] : await send(free);
      for (const [place, each] of free.entries()) {
        const outcome = outcomes[place] ?? unanswered;
        if (outcome.kind !== "done") refused.add(messageGroup(each));
        told.set(each, outcome);
      }
      sending.heard(outcomes);
      sent.push(...batch.map((each) => told.get(each) ?? over ?? back));
    }
    return sent;
  };
}

const back: Sent = { kind: "back" };

function entry(message: QueueMessage, index: number): Entry {
  const { body, target } = message;
  return { ...message, index, bytes: Buffer.byteLength(body) + attributeBytes(target) };
}

async function sendBatch(sqs: SQSClient, url: string, batch: readonly Entry[]): Promise<Sent[]> {
  const isFifo = url.endsWith(".fifo");
  const outcomes: Sent[] = batch.map(() => unanswered);
  const { Successful = [], Failed = [] } = await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: url,
      Entries: batch.map((each, place) => requestEntry(each, place, isFifo)),
    }),
  );
  for (const { Id } of Successful) outcomes[Number(Id)] = done;
  for (const { Id, Code, Message } of Failed)
    outcomes[Number(Id)] = failed(`SQS refused the message: ${Code} ${Message ?? ""}`);
  return outcomes;
}

function requestEntry(entry: Entry, place: number, isFifo: boolean): SendMessageBatchRequestEntry {
  const { id, body, target } = entry;
  const made: SendMessageBatchRequestEntry = { Id: String(place), MessageBody: body };
  // SQS drops a second message of the same id for five minutes. A later attempt, as after a longer
  // backoff, is a second message: the receiver recognizes it by the envelope's id.
  if (isFifo) made.MessageDeduplicationId = id;
  const group = isFifo ? messageGroup(entry) : target.groupId;
  if (group !== undefined) made.MessageGroupId = group;
  if (target.attributes !== undefined) made.MessageAttributes = stringAttributes(target.attributes);
  return made;
}

/** The message group in a FIFO queue. */
function messageGroup({ target, orderedBy }: Entry): string {
  return target.groupId ?? groupOf(orderedBy);
}

/**
 * The message group of a name, hashed if the name is too long or has characters that SQS does not
 * take.
 */
function groupOf(name: string): string {
  return /^[\x21-\x7e]{1,128}$/.test(name)
    ? name
    : `sha256:${createHash("sha256").update(name).digest("hex")}`;
}

function stringAttributes(attributes: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, { DataType: "String", StringValue: value }]),
  );
}

/** A queue of another region. A queue of the same name here must not get its messages. */
class OtherRegion extends Error {
  override readonly name = "OtherRegion";
}

/**
 * Tells whether a URL is that of one of these queues. Its end counts: the account and the name. The
 * host does not matter, since all requests go to one endpoint. An emulator finds queues by name in
 * every account, so the name of a queue outside of AWS is enough.
 */
function oneOf(urls: readonly string[]): (url: string) => boolean {
  const ends = new Set(urls.map((url) => endOf(url, inAws.test(url) ? 2 : 1)));
  return (url) => ends.has(endOf(url, 1)) || ends.has(endOf(url, 2));
}

const inAws = /^https?:\/\/[^/]+\.amazonaws\./;

const endOf = (url: string, parts: number) => url.split("/").slice(-parts).join("/");

async function findUrl(sqs: SQSClient, queue: string): Promise<string> {
  const [, urlRegion] = /^https?:\/\/sqs\.([a-z0-9-]+)\.amazonaws\./.exec(queue) ?? [];
  const [, arnRegion, account, name = queue] = /^arn:[^:]+:sqs:([^:]+):(\d{12}):(.+)$/.exec(queue) ?? [];
  const named = urlRegion ?? arnRegion;
  const own = await sqs.config.region();
  if (named !== undefined && named !== own)
    throw new OtherRegion(`The queue is in ${named}; this Carillon delivers within ${own}.`);
  if (/^https?:/.test(queue)) return queue;
  const owner = account === undefined ? {} : { QueueOwnerAWSAccountId: account };
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: name, ...owner }));
  if (QueueUrl === undefined) throw new Error(`SQS returned no URL for the queue ${queue}.`);
  return QueueUrl;
}
