import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { localFunction } from "../../lib/tools/local/lambda/local-function.ts";
import { type QueueSource, startQueueSource } from "../../lib/tools/local/lambda/queue-source.ts";
import { localQueueArn } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { type RecordedLog, recordedLog } from "../support/recorded-log.ts";

const clock = systemClock;
const name = "jobs";
let log: RecordedLog;
let dataDir: string;
let emulator: QueueEmulator;
let sqs: SQSClient;
let source: QueueSource;
let close: (graceMs: number) => Promise<void>;

beforeEach(async () => {
  log = recordedLog();
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-source-"));
  // No message becomes visible again by itself during a test, however slow the machine is: see
  // `bringBack`.
  emulator = await startQueues({
    dataDir,
    port: 0,
    queues: [{ name, attributes: { VisibilityTimeout: "3600" } }],
  });
  const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
  sqs = new SQSClient({ endpoint: emulator.url, region: "us-east-1", credentials });
});

afterEach(async () => {
  await source.stop();
  await close(1_000);
  sqs.destroy();
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function consume(handler: (event: SQSEvent) => Promise<unknown>, concurrency = 2, batchSizeMax = 10): void {
  const assemble = () => ({ handler, close: async () => {} });
  const spec = { name: "worker", assemble, env: {}, timeoutMs: 600_000, concurrency };
  const consumer = localFunction(spec, { clock, log });
  close = consumer.close;
  source = startQueueSource({
    sqs,
    queue: { name, url: emulator.queueUrl(name) },
    batchSizeMax,
    consumer,
    clock,
    log,
  });
}

async function send(...bodies: string[]): Promise<void> {
  const Entries = bodies.map((MessageBody, index) => ({ Id: String(index), MessageBody }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: emulator.queueUrl(name), Entries }));
}

async function counted(): Promise<{ visible: number; invisible: number }> {
  const asked = new GetQueueAttributesCommand({ QueueUrl: emulator.queueUrl(name), AttributeNames: ["All"] });
  const { Attributes = {} } = await sqs.send(asked);
  return {
    visible: Number(Attributes["ApproximateNumberOfMessages"]),
    invisible: Number(Attributes["ApproximateNumberOfMessagesNotVisible"]),
  };
}

/** Ends the visibility timeout of messages that the source has received and not deleted. */
async function bringBack(records: readonly SQSRecord[]): Promise<void> {
  for (const { receiptHandle: ReceiptHandle } of records)
    await sqs.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: emulator.queueUrl(name),
        ReceiptHandle,
        VisibilityTimeout: 0,
      }),
    );
}

const isNew = ({ attributes }: SQSRecord) => attributes.ApproximateReceiveCount === "1";

/** Ready, delayed and invisible messages. */
async function left(): Promise<number> {
  const { visible, invisible } = await counted();
  return visible + invisible;
}

describe("an SQS event source", () => {
  test("an SQS event source passes messages on as Lambda does, and deletes the finished ones", async () => {
    const events: SQSEvent[] = [];
    consume(async (event) => {
      events.push(event);
      return { batchItemFailures: [] };
    });
    await sqs.send(
      new SendMessageCommand({
        QueueUrl: emulator.queueUrl(name),
        MessageBody: "a",
        MessageAttributes: { kind: { DataType: "String", StringValue: "x" } },
      }),
    );
    await expect.poll(() => events.length).toBe(1);
    await expect.poll(left).toBe(0);
    expect(events[0]?.Records).toMatchObject([
      {
        body: "a",
        attributes: { ApproximateReceiveCount: "1", SentTimestamp: expect.stringMatching(/^\d{13}$/) },
        messageAttributes: { kind: { dataType: "String", stringValue: "x" } },
        eventSource: "aws:sqs",
        eventSourceARN: localQueueArn(name),
        awsRegion: "us-east-1",
      },
    ]);
  });

  test("an SQS event source deletes the finished messages, and receives those that a response names as failed again", async () => {
    const seen: SQSRecord[] = [];
    const failed = (record: SQSRecord) => record.body === "b" && isNew(record);
    await send("a", "b", "c");
    consume(async ({ Records }) => {
      seen.push(...Records);
      const batchItemFailures = Records.filter(failed).map(({ messageId }) => ({
        itemIdentifier: messageId,
      }));
      return { batchItemFailures };
    });
    await expect.poll(() => seen.map(({ body }) => body).toSorted()).toEqual(["a", "b", "c"]);
    await expect.poll(counted).toEqual({ visible: 0, invisible: 1 });
    await bringBack(seen.filter(failed));
    await expect.poll(() => seen.map(({ body }) => body).toSorted()).toEqual(["a", "b", "b", "c"]);
    await expect.poll(left).toBe(0);
  });

  test("an SQS event source leaves the whole batch in the queue when the handler throws, and receives it again", async () => {
    const seen: SQSRecord[] = [];
    await send("a", "b");
    consume(async ({ Records }) => {
      seen.push(...Records);
      if (Records.some(isNew)) throw new Error("crashed");
      return { batchItemFailures: [] };
    }, 1);
    const thrown = () => log.lines.filter(({ event }) => event === "local.batch-failed");
    const messages = () => thrown().reduce((sum, { fields }) => sum + Number(fields["messages"]), 0);
    await expect.poll(messages).toBe(2);
    expect(await counted()).toEqual({ visible: 0, invisible: 2 });
    await bringBack(seen.filter(isNew));
    await expect.poll(() => seen.map(({ body }) => body).toSorted()).toEqual(["a", "a", "b", "b"]);
    await expect.poll(left).toBe(0);
  });

  test("an SQS event source receives the messages of several invocations in one poll, and starts each when an environment is free", async () => {
    const sizes: number[] = [];
    let polls = 0;
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    sqs.middlewareStack.add(
      (next, context) => (args) => {
        if (context["commandName"] === ReceiveMessageCommand.name) polls++;
        return next(args);
      },
      { step: "initialize" },
    );
    await send("a", "b", "c", "d", "e", "f");
    const handler = async ({ Records }: SQSEvent) => {
      sizes.push(Records.length);
      await gate;
      return { batchItemFailures: [] };
    };
    consume(handler, 4, 1);
    await expect.poll(() => sizes).toEqual([1, 1, 1, 1]);
    expect(polls).toBe(1);
    open();
    await expect.poll(left).toBe(0);
    expect(sizes).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("an SQS event source returns messages that it has received and not started when it stops", async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    await send("a", "b", "c", "d", "e");
    consume(
      async () => {
        begun += 1;
        await gate.promise;
        return { batchItemFailures: [] };
      },
      2,
      1,
    );
    await expect.poll(() => begun).toBe(2);
    await source.stop();
    expect(await counted()).toEqual({ visible: 3, invisible: 2 });
    gate.resolve();
    await expect.poll(left).toBe(3);
    expect(begun).toBe(2);
  });

  test("an SQS event source runs no more batches at once than the function serves, with ten messages at most", async () => {
    const sizes: number[] = [];
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    await send(..."abcdefghij");
    await send(..."klmnopqrst");
    await send(..."uvw");
    consume(async ({ Records }) => {
      sizes.push(Records.length);
      await gate;
      return { batchItemFailures: [] };
    }, 2);
    await expect.poll(() => sizes.length).toBe(2);
    expect(sizes).toEqual([10, 10]);
    open();
    await expect.poll(left).toBe(0);
  });
});
