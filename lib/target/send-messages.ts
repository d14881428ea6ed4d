import { createHash } from "node:crypto";
import { GetQueueUrlCommand, SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { QueueTarget } from "../schedule/target-shape.ts";
import { done, eachRequest, failed, requests, type Sent } from "./delivery.ts";

export interface MessageSenderDeps {
  sqs: SQSClient;
  /** The queues in which Carillon's own parcels travel: no schedule may write there. */
  ownUrls: readonly string[];
}

/** What is to be one message in the queue that its target names. */
export interface QueueMessage {
  body: string;
  target: QueueTarget;
  /** Of two with the same id a FIFO queue takes one, for five minutes. */
  id: string;
  /** Those of one name arrive in order in a FIFO queue whose target names no group. */
  orderedBy: string;
}

/** Sends messages, and says of each how it went, in the same order. */
export type SendMessages = (messages: readonly QueueMessage[]) => Promise<Sent[]>;

interface Entry extends QueueMessage {
  index: number;
  bytes: number;
}

export function messageSender(deps: MessageSenderDeps): SendMessages {
  const own = new Set(deps.ownUrls.map(accountAndName));
  const urls = new Map<string, Promise<string>>();
  const urlOf = (queue: string) => {
    const known = urls.get(queue);
    if (known !== undefined) return known;
    const finding = findUrl(deps.sqs, queue);
    urls.set(queue, finding);
    finding.catch(() => urls.delete(queue));
    return finding;
  };

  return async (messages) => {
    const outcomes: Sent[] = messages.map(() => failed("SQS did not say what became of the message."));
    const byQueue = Map.groupBy(messages.map(entry), ({ target }) => target.queue);
    const sendings: Sending[] = [];
    await eachRequest([...byQueue], async ([queue, entries]) => {
      const url = await urlOf(queue).catch((error: unknown) => failed(error, error instanceof OtherRegion));
      if (typeof url === "string" && !own.has(accountAndName(url))) {
        sendings.push(...sendingsTo(url, entries));
        return;
      }
      const refused = typeof url === "string" ? failed("This is one of Carillon's own queues.", true) : url;
      for (const { index } of entries) outcomes[index] = refused;
    });
    await eachRequest(sendings, async ({ url, batches }) => {
      for (const batch of batches) {
        for (const [index, outcome] of await sendBatch(deps.sqs, url, batch)) outcomes[index] = outcome;
      }
    });
    return outcomes;
  };
}

/** Batches of one queue that go one after the other. */
interface Sending {
  url: string;
  batches: Entry[][];
}

/** Only in a FIFO queue does the order of arrival mean anything. */
function sendingsTo(url: string, entries: readonly Entry[]): Sending[] {
  const batches = requests(entries);
  return url.endsWith(".fifo") ? [{ url, batches }] : batches.map((batch) => ({ url, batches: [batch] }));
}

function entry(message: QueueMessage, index: number): Entry {
  return { ...message, index, bytes: Buffer.byteLength(message.body) + attributeBytes(message.target) };
}

/** SQS counts them too: names, types and values. */
function attributeBytes({ attributes }: QueueTarget): number {
  if (attributes === undefined) return 0;
  const texts = Object.entries(attributes).flatMap(([name, value]) => [name, "String", value]);
  return Buffer.byteLength(texts.join(""));
}

async function sendBatch(sqs: SQSClient, url: string, batch: readonly Entry[]): Promise<[number, Sent][]> {
  const isFifo = url.endsWith(".fifo");
  try {
    const { Successful = [], Failed = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: batch.map(({ index, id, orderedBy, body, target }) => ({
          Id: String(index),
          MessageBody: body,
          // SQS drops a second message of the same id for five minutes. An attempt after that, as after a longer backoff, is a
          // second message: the receiver tells it by the envelope's id.
          ...(isFifo
            ? { MessageDeduplicationId: id, MessageGroupId: target.groupId ?? groupOf(orderedBy) }
            : {}),
          ...(!isFifo && target.groupId !== undefined ? { MessageGroupId: target.groupId } : {}),
          ...(target.attributes === undefined
            ? {}
            : { MessageAttributes: stringAttributes(target.attributes) }),
        })),
      }),
    );
    return [
      ...Successful.map(({ Id }): [number, Sent] => [Number(Id), done]),
      ...Failed.map(({ Id, Code, Message }): [number, Sent] => [
        Number(Id),
        failed(`SQS refused the message: ${Code} ${Message ?? ""}`),
      ]),
    ];
  } catch (error) {
    return batch.map(({ index }): [number, Sent] => [index, failed(error)]);
  }
}

/** A name may be longer than a group's id, and hold what that does not take. */
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

/** A queue of another region: this one may have a queue of the same name, and must not get what was meant for the other. */
class OtherRegion extends Error {
  override readonly name = "OtherRegion";
}

/** The account and the name, at the end of every queue URL: the host says nothing, since all requests go to one endpoint. */
function accountAndName(url: string): string {
  return url.split("/").slice(-2).join("/");
}

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
  if (QueueUrl === undefined) throw new Error(`SQS knows the queue ${queue} but gave no URL for it.`);
  return QueueUrl;
}
