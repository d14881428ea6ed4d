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
import { longestChain, withTrace } from "./chain.ts";
import type { LocalFunction } from "./local-function.ts";
import { sqsEvent } from "./sqs-event.ts";

export interface QueueSourceParts {
  sqs: SQSClient;
  queue: { name: string; url: string };
  /** The most messages of one invocation. A poll may bring the messages of several. */
  batchSizeMax: number;
  consumer: LocalFunction<SQSEvent, unknown>;
  clock: Clock;
  log: Log;
}

export interface QueueSource {
  /**
   * Receives no more messages. Those already received are still processed; see the function's own
   * `close`.
   */
  stop(): Promise<void>;
}

export const pollSeconds = 20;
/** SQS's limit for one poll. */
const receivedMax = 10;
const pauseAfterFailureMs = 1_000;
/**
 * The wait for more messages after a poll that was not full: a poll costs the same for one message
 * or ten.
 */
const gatherMs = 20;

/**
 * An event source mapping: one long poll at a time, and none while the function is busy with as
 * many batches as it serves at once. Messages are passed on batch by batch; at most ten wait here
 * for a free environment. Messages that are not proven done stay in the queue until their
 * visibility timeout.
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

/** Makes messages visible again that no invocation has received. */
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

/** The entries that name several messages in a request. */
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
  // Each poll has its own signal, because the client's listeners on it are collected with it.
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
    const trace = longestChain(messages.map(({ Attributes }) => Attributes?.AWSTraceHeader));
    const response = await withTrace(trace, () =>
      consumer.invoke(sqsEvent(messages, localQueueArn(queue.name))),
    );
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
 * Deletes finished messages in the background. One request is under way at a time; messages that
 * finish meanwhile are deleted together in the next.
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
        // The messages are delivered again, and their work is found done.
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
