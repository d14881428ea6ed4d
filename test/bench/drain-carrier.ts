import {
  DeleteMessageBatchCommand,
  GetQueueUrlCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { withoutSdkLog } from "../../lib/config/aws.ts";
import type { ParcelQueue, QueueClass } from "../../lib/parcel/parcel-queue.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";

/** The transport of the parcels' messages to the workers. */
export interface Carrier {
  queue: ParcelQueue;
  /**
   * Returns nothing after a moment when no message waits, and at once when the signal says that the
   * run is over.
   */
  receive(queue: QueueClass, max: number, over: AbortSignal): Promise<SQSRecord[]>;
  done(queue: QueueClass, records: readonly SQSRecord[]): Promise<void>;
  /** Discards the messages that a run has left. */
  clear(): Promise<void>;
}

const arn = (queue: QueueClass) => `arn:aws:sqs:us-east-1:000000000000:bench-${queue}`;

/** The emulator: every message is sent, received and deleted over HTTP. */
export function sqsCarrier(queue: ParcelQueue): Carrier {
  const { sqs, urls } = queue;
  return {
    queue,
    receive: async (name, max, over) => {
      const command = new ReceiveMessageCommand({
        QueueUrl: urls[name],
        MaxNumberOfMessages: max,
        WaitTimeSeconds: 1,
      });
      try {
        const { Messages = [] } = await sqs.send(command, { abortSignal: over });
        return sqsEvent(Messages, arn(name)).Records;
      } catch (error) {
        if (over.aborted) return [];
        throw error;
      }
    },
    done: async (name, records) => {
      const Entries = records.map(({ receiptHandle }, i) => ({
        Id: String(i),
        ReceiptHandle: receiptHandle,
      }));
      await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: urls[name], Entries }));
    },
    clear: async () => {
      await Promise.all(Object.values(urls).map((QueueUrl) => sqs.send(new PurgeQueueCommand({ QueueUrl }))));
    },
  };
}

const momentMs = 2;

/**
 * A list in this process, to measure the cost without SQS. It ignores delays, because all messages
 * here are due.
 */
export function directCarrier({ urls, log, timing }: ParcelQueue): Carrier {
  const waiting: Record<QueueClass, string[]> = { fast: [], slow: [] };
  const sqs = answeringClient((url, bodies) => {
    waiting[url === urls.fast ? "fast" : "slow"].push(...bodies);
  });
  return {
    queue: { sqs, urls, log, timing },
    receive: async (name, max) => {
      const bodies = waiting[name].splice(0, max);
      if (bodies.length === 0) await new Promise((resolve) => setTimeout(resolve, momentMs));
      const messages = bodies.map((Body, i) => ({ MessageId: String(i), ReceiptHandle: String(i), Body }));
      return sqsEvent(messages, arn(name)).Records;
    },
    done: async () => {},
    clear: async () => {
      waiting.fast = [];
      waiting.slow = [];
    },
  };
}

/**
 * A client that accepts every batch and answers at once, before it is serialized, signed and sent:
 * measures a job to a queue up to there.
 */
export function answeringClient(take: (url: string, bodies: readonly string[]) => void): SQSClient {
  const client = withoutSdkLog(
    new SQSClient({
      region: "us-east-1",
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
      cacheMiddleware: true,
    }),
  );
  client.middlewareStack.add(
    (_next, context) => async (args) => {
      const { input } = args;
      if (context["commandName"] === GetQueueUrlCommand.name)
        return {
          output: { QueueUrl: "http://sink.test/000000000000/sink", $metadata: {} },
          response: {},
        };
      if (context["commandName"] !== SendMessageBatchCommand.name || !("Entries" in input))
        throw new Error(`Only batches are sent here, not ${String(context["commandName"])}.`);
      const entries = input.Entries ?? [];
      take(
        input.QueueUrl ?? "",
        entries.map((entry) => ("MessageBody" in entry ? (entry.MessageBody ?? "") : "")),
      );
      const Successful = entries.map(({ Id }) => ({ Id, MessageId: "m", MD5OfMessageBody: "" }));
      return { output: { Successful, Failed: [], $metadata: {} }, response: {} };
    },
    { step: "initialize" },
  );
  return client;
}
