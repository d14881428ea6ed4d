import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import type { SQSEvent } from "aws-lambda";
import type { Clock } from "../../../clock.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { localQueueArn } from "../local-account.ts";
import { acknowledged } from "./batch-response.ts";
import type { LocalFunction } from "./local-function.ts";
import { sqsEvent } from "./sqs-event.ts";

export interface QueueSourceParts {
  sqs: SQSClient;
  queue: { name: string; url: string };
  /** How many messages one invocation gets at most. A poll may bring those of several. */
  batchSizeMax: number;
  consumer: LocalFunction<SQSEvent, unknown>;
  clock: Clock;
  log: Log;
}

export interface QueueSource {
  /** Takes no more messages; what was received is still worked on, see the function's own `close`. */
  stop(): Promise<void>;
}

export const pollSeconds = 20;
/** SQS gives no more to one poll. */
const receivedMax = 10;
const pauseAfterFailureMs = 1_000;
/** So long messages gather after a poll that brought fewer than it could: it costs the same whether it brings one or ten. */
const gatherMs = 20;

/**
 * An event source mapping: one long poll at a time, and none while as many batches are under way as the function serves. What a poll brings is
 * handed over batch by batch; what there are no hands for yet waits here, ten messages at most. What is not proven done stays in the queue
 * until its visibility timeout.
 */
export function startQueueSource(parts: QueueSourceParts): QueueSource {
  const stopping = new AbortController();
  const stopped = poll(parts, stopping.signal);
  return {
    stop: () => {
      stopping.abort();
      return stopped;
    },
  };
}

async function poll(parts: QueueSourceParts, stopping: AbortSignal): Promise<void> {
  const { consumer, clock, log, queue, batchSizeMax } = parts;
  const remove = remover(parts);
  const underWay = new Set<Promise<void>>();
  const stopped = aborted(stopping);
  let waiting: Message[] = [];
  while (!stopping.aborted) {
    if (underWay.size >= consumer.concurrency) {
      await Promise.race([...underWay, stopped]);
      continue;
    }
    if (waiting.length > 0) {
      const batch: Promise<void> = work(parts, waiting.splice(0, batchSizeMax), remove).finally(() =>
        underWay.delete(batch),
      );
      underWay.add(batch);
      continue;
    }
    try {
      waiting = await receive(parts, stopping);
      if (waiting.length > 0 && waiting.length < receivedMax) await clock.sleep(gatherMs, stopping);
    } catch (error) {
      if (stopping.aborted) return;
      log.warn("local.poll-failed", { queue: queue.name, error: errorText(error) });
      await clock.sleep(pauseAfterFailureMs, stopping);
    }
  }
  await giveBack(parts, waiting);
}

/** What nobody has begun is there for the next who asks. */
async function giveBack({ sqs, queue, log }: QueueSourceParts, messages: readonly Message[]): Promise<void> {
  if (messages.length === 0) return;
  const Entries = entriesOf(messages).map((entry) => ({ ...entry, VisibilityTimeout: 0 }));
  try {
    await sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queue.url, Entries }));
  } catch (error) {
    const failure = { queue: queue.name, messages: messages.length, error: errorText(error) };
    log.warn("local.give-back-failed", failure);
  }
}

/** How a request names several messages. */
function entriesOf(messages: readonly Message[]): { Id: string; ReceiptHandle: string | undefined }[] {
  return messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
}

async function receive({ sqs, queue }: QueueSourceParts, stopping: AbortSignal): Promise<Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queue.url,
    MaxNumberOfMessages: receivedMax,
    WaitTimeSeconds: pollSeconds,
    MessageSystemAttributeNames: ["All"],
    MessageAttributeNames: ["All"],
  });
  // A signal for each poll, so that what the client hangs on it goes with it.
  const own = new AbortController();
  const abort = () => own.abort();
  stopping.addEventListener("abort", abort, { once: true });
  try {
    const { Messages = [] } = await sqs.send(command, { abortSignal: own.signal });
    return Messages;
  } finally {
    stopping.removeEventListener("abort", abort);
  }
}

type Remove = (messages: readonly Message[]) => void;

async function work(parts: QueueSourceParts, messages: readonly Message[], remove: Remove): Promise<void> {
  const { consumer, log, queue } = parts;
  try {
    const response = await consumer.invoke(sqsEvent(messages, localQueueArn(queue.name)));
    const done = new Set(
      acknowledged(
        response,
        messages.map(({ MessageId }) => MessageId ?? ""),
      ),
    );
    remove(messages.filter(({ MessageId }) => done.has(MessageId ?? "")));
  } catch (error) {
    const failure = {
      function: consumer.name,
      queue: queue.name,
      messages: messages.length,
      error: errorText(error),
    };
    log.error("local.batch-failed", failure);
  }
}

/**
 * Removes messages that are done with, and nobody waits for it. One request is under way at a time; what is done meanwhile goes together in
 * the next.
 */
function remover({ sqs, queue, log }: QueueSourceParts): Remove {
  const waiting: Message[] = [];
  let isSending = false;
  const send = async () => {
    isSending = true;
    while (waiting.length > 0) {
      const some = waiting.splice(0, receivedMax);
      try {
        await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queue.url, Entries: entriesOf(some) }));
      } catch (error) {
        // They come again, and find their work done.
        log.warn("local.delete-failed", {
          queue: queue.name,
          messages: some.length,
          error: errorText(error),
        });
      }
    }
    isSending = false;
  };
  return (messages) => {
    waiting.push(...messages);
    if (!isSending) void send();
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
