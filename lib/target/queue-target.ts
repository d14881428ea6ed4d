import { GetQueueUrlCommand, SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Clock } from "../clock.ts";
import { jobId } from "../job/job-id.ts";
import type { ClaimedJob } from "../parcel/claim.ts";
import type { QueueTarget } from "../schedule/target-shape.ts";
import { type Delivery, done, eachRequest, failed, requests } from "./delivery.ts";
import { envelope } from "./envelope.ts";

export interface QueueTargetDeps {
  sqs: SQSClient;
  clock: Clock;
  /** The queues in which Carillon's own parcels travel: no schedule may write there. */
  ownUrls: readonly string[];
}

interface Entry {
  index: number;
  id: string;
  body: string;
  bytes: number;
  target: QueueTarget;
}

/** Sends jobs as messages to the SQS queues that their targets name. */
export function queueTarget(
  deps: QueueTargetDeps,
): (jobs: readonly (ClaimedJob & { target: QueueTarget })[]) => Promise<Delivery[]> {
  const urls = new Map<string, Promise<string>>();
  const urlOf = (queue: string) => {
    const known = urls.get(queue);
    if (known !== undefined) return known;
    const finding = findUrl(deps.sqs, queue);
    urls.set(queue, finding);
    finding.catch(() => urls.delete(queue));
    return finding;
  };

  return async (jobs) => {
    const deliveries: Delivery[] = jobs.map(() => failed("SQS did not say what became of the message."));
    const byQueue = Map.groupBy(
      jobs.map((job, index) => entry(job, index, deps.clock.now())),
      ({ target }) => target.queue,
    );
    for (const [queue, entries] of byQueue) {
      let url: string;
      try {
        url = await urlOf(queue);
      } catch (error) {
        for (const { index } of entries) deliveries[index] = failed(error);
        continue;
      }
      if (deps.ownUrls.includes(url)) {
        for (const { index } of entries)
          deliveries[index] = failed("This is one of Carillon's own queues.", true);
        continue;
      }
      await eachRequest(requests(entries), async (batch) => {
        for (const [index, delivery] of await sendBatch(deps.sqs, url, batch)) deliveries[index] = delivery;
      });
    }
    return deliveries;
  };
}

function entry(job: ClaimedJob & { target: QueueTarget }, index: number, now: Date): Entry {
  const body = envelope(job, now);
  return {
    index,
    id: jobId(job),
    body,
    bytes: Buffer.byteLength(body) + attributeBytes(job.target),
    target: job.target,
  };
}

/** SQS counts them too: names, types and values. */
function attributeBytes({ attributes = {} }: QueueTarget): number {
  const texts = Object.entries(attributes).flatMap(([name, value]) => [name, "String", value]);
  return Buffer.byteLength(texts.join(""));
}

async function sendBatch(
  sqs: SQSClient,
  url: string,
  batch: readonly Entry[],
): Promise<[number, Delivery][]> {
  const isFifo = url.endsWith(".fifo");
  try {
    const { Successful = [], Failed = [] } = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: batch.map(({ index, id, body, target }) => ({
          Id: String(index),
          MessageBody: body,
          ...(isFifo ? { MessageDeduplicationId: id, MessageGroupId: target.groupId ?? id } : {}),
          ...(!isFifo && target.groupId !== undefined ? { MessageGroupId: target.groupId } : {}),
          ...(target.attributes === undefined
            ? {}
            : { MessageAttributes: stringAttributes(target.attributes) }),
        })),
      }),
    );
    return [
      ...Successful.map(({ Id }): [number, Delivery] => [Number(Id), done]),
      ...Failed.map(({ Id, Code, Message }): [number, Delivery] => [
        Number(Id),
        failed(`SQS refused the message: ${Code} ${Message ?? ""}`),
      ]),
    ];
  } catch (error) {
    return batch.map(({ index }): [number, Delivery] => [index, failed(error)]);
  }
}

function stringAttributes(attributes: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, { DataType: "String", StringValue: value }]),
  );
}

async function findUrl(sqs: SQSClient, queue: string): Promise<string> {
  if (/^https?:/.test(queue)) return queue;
  const [, account, name = queue] = /^arn:[^:]+:sqs:[^:]+:(\d{12}):(.+)$/.exec(queue) ?? [];
  const owner = account === undefined ? {} : { QueueOwnerAWSAccountId: account };
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName: name, ...owner }));
  if (QueueUrl === undefined) throw new Error(`SQS knows the queue ${queue} but gave no URL for it.`);
  return QueueUrl;
}
