import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { ParcelQueue, QueueClass } from "../../parcel/parcel-queue.ts";
import { sqsEvent } from "../local/lambda/sqs-event.ts";
import { type Group, nextFairly } from "../local/queue/fair-order.ts";
import { standingTiming } from "./standing-timing.ts";

export interface QueuedMessage {
  id: string;
  queue: QueueClass;
  body: string;
  delaySeconds: number;
  visibleAt: number;
  group: string | undefined;
}

export interface MemoryQueue extends ParcelQueue {
  messages: QueuedMessage[];
  /** Every request, unchanged. */
  requests: SendMessageBatchRequestEntry[][];
  /** The result of an entry: it arrives unless this says otherwise. A test replaces it. */
  fate: (entry: SendMessageBatchRequestEntry) => "arrives" | "refused" | "unanswered" | "twice" | "lost";
  /** Thrown instead of an answer, as when the network is down. */
  outage: Error | null;
  /**
   * Takes the visible messages off, at most `most`: in the order in which they became visible, but
   * those of quiet groups first, as SQS's fair queues. The last hundred of the queue count as in
   * flight.
   */
  take(queue: QueueClass, most?: number): SQSRecord[];
  /** Returns the message's id. */
  put(queue: QueueClass, body: string, delaySeconds?: number, group?: string): string;
  /** Answers requests of the same client that are not for these queues; by default they fail. */
  elsewhere: (command: string, input: object) => object;
}

const urls = {
  fast: "http://queues.test/000000000000/carillon-fast",
  slow: "http://queues.test/000000000000/carillon-slow",
} as const;

const inFlightMax = 100;

/**
 * The two queues in memory, on a test's clock, because the emulator's delays take real time. The
 * client is the real one, and answered before it would use the network.
 */
export function memoryQueue(clock: Clock, log: Log): MemoryQueue {
  let made = 0;
  const lastTaken: Record<QueueClass, Group[]> = { fast: [], slow: [] };
  const sqs = new SQSClient({ region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } });
  const queue: MemoryQueue = {
    sqs,
    urls,
    log,
    timing: standingTiming(clock),
    messages: [],
    requests: [],
    fate: () => "arrives",
    outage: null,
    put: (name, body, delaySeconds = 0, group) => {
      made += 1;
      const visibleAt = clock.now().getTime() + delaySeconds * 1_000;
      const id = `message-${made}`;
      queue.messages.push({ id, queue: name, body, delaySeconds, visibleAt, group });
      return id;
    },
    elsewhere: (command) => {
      throw new Error(`Only batches are sent to the queues in memory, not ${command}.`);
    },
    take: (name, most = Number.POSITIVE_INFINITY) => {
      const now = clock.now().getTime();
      const visible = queue.messages
        .filter((each) => each.queue === name && each.visibleAt <= now)
        .sort((a, b) => a.visibleAt - b.visibleAt);
      const next = nextFairly(
        visible.map(({ group }) => group),
        Math.min(most, visible.length),
        { inFlight: lastTaken[name] },
      );
      const taken = next.flatMap((position) => visible[position] ?? []);
      lastTaken[name] = [...lastTaken[name], ...taken.map(({ group }) => group)].slice(-inFlightMax);
      queue.messages = queue.messages.filter((each) => !taken.includes(each));
      const messages = taken.map(({ id, body, group }) => ({
        MessageId: id,
        ReceiptHandle: id,
        Body: body,
        ...(group === undefined ? {} : { Attributes: { MessageGroupId: group } }),
      }));
      return sqsEvent(messages, `arn:aws:sqs:us-east-1:000000000000:carillon-${name}`).Records;
    },
  };
  sqs.middlewareStack.add(
    (_next, context) => async (args) => {
      const { input } = args;
      const command = String(context["commandName"]);
      const output =
        command === SendMessageBatchCommand.name && "Entries" in input && isOwn(input.QueueUrl)
          ? answer(queue, input.QueueUrl, sentEntries(input.Entries))
          : queue.elsewhere(command, input);
      return { output: { ...output, $metadata: {} }, response: {} };
    },
    { step: "initialize" },
  );
  return queue;
}

const isOwn = (url: unknown): url is string => Object.values<unknown>(urls).includes(url);

function sentEntries(entries: unknown): SendMessageBatchRequestEntry[] {
  if (!Array.isArray(entries) || entries.length === 0 || entries.length > 10)
    throw new Error("SQS takes batches of one to ten.");
  return entries;
}

function answer(queue: MemoryQueue, url: string, entries: SendMessageBatchRequestEntry[]) {
  if (queue.outage !== null) throw queue.outage;
  queue.requests.push(entries);
  const name = url === urls.fast ? "fast" : "slow";
  const fates = entries.map((entry) => ({ Id: entry.Id, entry, fate: queue.fate(entry) }));
  for (const { entry, fate } of fates) {
    const times = { arrives: 1, twice: 2, unanswered: 0, refused: 0, lost: 0 }[fate];
    for (let time = 0; time < times; time++)
      queue.put(name, entry.MessageBody ?? "", entry.DelaySeconds, entry.MessageGroupId);
  }
  const withFate = (...wanted: string[]) => fates.filter(({ fate }) => wanted.includes(fate));
  return {
    Successful: withFate("arrives", "twice", "lost").map(({ Id }) => ({
      Id,
      MessageId: "m",
      MD5OfMessageBody: "",
    })),
    Failed: withFate("refused").map(({ Id }) => ({
      Id,
      Code: "Throttled",
      Message: "later",
      SenderFault: false,
    })),
  };
}
