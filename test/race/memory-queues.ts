import { type SendMessageBatchRequestEntry, type ServiceInputTypes, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import type { Clock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ParcelQueue, QueueClass } from "../../lib/parcel/parcel-queue.ts";
import { standingTiming } from "../../lib/tools/testing/standing-timing.ts";

export interface Message {
  id: number;
  queue: QueueClass;
  body: string;
  visibleAt: number;
}

/** The result of sending one message; with `unanswered` it arrives and the sender gets an error. */
export type SendFate = "arrives" | "lost" | "doubled" | "refused" | "unanswered";

export interface MemoryQueues {
  /** A sender: the real client, with answers from memory. Each sender may have its own fates. */
  sender(fate?: (entry: SendMessageBatchRequestEntry) => SendFate): ParcelQueue;
  /** Receives visible messages, and hides them from other receivers. */
  receive(max: number, pick?: (count: number) => number): Message[];
  remove(message: Message): void;
  purge(): void;
  size(): number;
}

const urls = { fast: "https://queue.test/fast", slow: "https://queue.test/slow" };

/**
 * SQS in memory, with delays, visibility timeouts and any order. It can lose messages with one line
 * of code.
 */
export function memoryQueues(clock: Clock, visibilityMs: number): MemoryQueues {
  const messages = new Set<Message>();
  let made = 0;
  const put = (queue: QueueClass, { MessageBody = "", DelaySeconds = 0 }: SendMessageBatchRequestEntry) =>
    messages.add({
      id: ++made,
      queue,
      body: MessageBody,
      visibleAt: clock.now().getTime() + DelaySeconds * 1_000,
    });

  const timing = standingTiming(clock);

  return {
    sender: (fate = () => "arrives") => ({ sqs: clientOver(put, fate), urls, log: silentLog, timing }),
    receive: (max, pick = () => 0) => {
      const now = clock.now().getTime();
      const visible = [...messages].filter(({ visibleAt }) => visibleAt <= now);
      const taken: Message[] = [];
      while (taken.length < max && visible.length > 0) taken.push(...visible.splice(pick(visible.length), 1));
      for (const message of taken) message.visibleAt = now + visibilityMs;
      return taken;
    },
    remove: (message) => messages.delete(message),
    purge: () => messages.clear(),
    size: () => messages.size,
  };
}

type Put = (queue: QueueClass, entry: SendMessageBatchRequestEntry) => void;
type FateOf = (entry: SendMessageBatchRequestEntry) => SendFate;

function clientOver(put: Put, fateOf: FateOf): SQSClient {
  const sqs = new SQSClient({
    region: "eu-central-1",
    credentials: { accessKeyId: "-", secretAccessKey: "-" },
  });
  // Answers before the request is serialised, so that no request leaves this process.
  sqs.middlewareStack.add(
    () =>
      async ({ input }) => ({ response: {}, output: take(input, put, fateOf) }),
    {
      step: "initialize",
      priority: "low",
      name: "answerFromMemory",
    },
  );
  return sqs;
}

function take(input: ServiceInputTypes, put: Put, fateOf: FateOf) {
  if (!("QueueUrl" in input) || !("Entries" in input))
    throw new Error("Only SendMessageBatch is answered from memory.");
  const queue = input.QueueUrl === urls.fast ? "fast" : "slow";
  const entries = (input.Entries ?? []).flatMap((entry) => ("MessageBody" in entry ? [entry] : []));
  const fates = new Map(entries.map((entry) => [entry, fateOf(entry)]));
  for (const [entry, fate] of fates) {
    const copies = fate === "doubled" ? 2 : fate === "lost" || fate === "refused" ? 0 : 1;
    for (let copy = 0; copy < copies; copy++) put(queue, entry);
  }
  if ([...fates.values()].includes("unanswered")) throw new Error("The answer of the queue was lost.");
  const isRefused = (entry: SendMessageBatchRequestEntry) => fates.get(entry) === "refused";
  return {
    $metadata: {},
    Successful: entries
      .filter((entry) => !isRefused(entry))
      .map(({ Id }) => ({ Id, MessageId: Id, MD5OfMessageBody: "" })),
    Failed: entries.filter(isRefused).map(({ Id }) => ({ Id, SenderFault: false, Code: "InternalError" })),
  };
}

export function recordOf({ id, queue, body }: Message): SQSRecord {
  return {
    messageId: String(id),
    receiptHandle: String(id),
    body,
    attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: "0",
      SenderId: "-",
      ApproximateFirstReceiveTimestamp: "0",
    },
    messageAttributes: {},
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: `arn:aws:sqs:eu-central-1:000000000000:${queue}`,
    awsRegion: "eu-central-1",
  };
}
