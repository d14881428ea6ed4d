import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type QueueEmulator, startQueues } from "../../../lib/tools/local/queue/start-queues.ts";

let dataDir: string;
let emulator: QueueEmulator;
let sqs: SQSClient;

const queues = ["jobs", "jobs.fifo"].map((name) => ({ name, attributes: { VisibilityTimeout: "3600" } }));

async function start(): Promise<void> {
  emulator = await startQueues({ dataDir, port: 0, queues });
  const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
  sqs = new SQSClient({ endpoint: emulator.url, region: "us-east-1", credentials, maxAttempts: 1 });
}

async function stop(): Promise<void> {
  sqs.destroy();
  await emulator.stop();
}

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-fair-"));
  await start();
});

afterEach(async () => {
  await stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Sends ten messages, `name-0` to `name-9`. */
async function sendTen(name: string, group: string | undefined): Promise<void> {
  const Entries = Array.from({ length: 10 }, (_, i) => ({
    Id: String(i),
    MessageBody: `${name}-${i}`,
    ...(group === undefined ? {} : { MessageGroupId: group }),
  }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: emulator.queueUrl("jobs"), Entries }));
}

async function receive(most: number, queue = "jobs"): Promise<Message[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: emulator.queueUrl(queue),
      MaxNumberOfMessages: most,
      MessageSystemAttributeNames: ["All"],
    }),
  );
  return Messages;
}

const bodies = (messages: readonly Message[]) => messages.map(({ Body }) => Body);

test("messages of other groups and without one overtake those of a group that has all receivers", async () => {
  for (const name of ["a", "b", "c"]) await sendTen(name, "large");
  await sendTen("other", "small");
  await sendTen("none", undefined);
  expect(bodies(await receive(10))).toEqual(Array.from({ length: 10 }, (_, i) => `a-${i}`));
  expect(bodies(await receive(2))).toEqual(["other-0", "other-1"]);
});

test("messages of a group that has all receivers are delivered, in their order, when no other waits", async () => {
  await sendTen("a", "large");
  await sendTen("b", "large");
  expect(bodies(await receive(10))).toHaveLength(10);
  expect(bodies(await receive(10))).toEqual(Array.from({ length: 10 }, (_, i) => `b-${i}`));
  expect(await receive(10)).toEqual([]);
});

test("the time of messages that were deleted counts, too", async () => {
  await sendTen("a", "large");
  await sendTen("b", "large");
  await sendTen("none", undefined);
  for (const { ReceiptHandle } of await receive(10))
    await sqs.send(new DeleteMessageCommand({ QueueUrl: emulator.queueUrl("jobs"), ReceiptHandle }));
  expect(bodies(await receive(1))).toEqual(["none-0"]);
});

test("the message group is an attribute of the received message, also after a restart", async () => {
  await sendTen("a", "large");
  await sendTen("none", undefined);
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: emulator.queueUrl("jobs"),
      MessageBody: "one",
      MessageGroupId: "small",
    }),
  );
  const [first] = await receive(1);
  expect(first?.Attributes?.["MessageGroupId"]).toBe("large");
  await stop();
  await start();
  const received = [...(await receive(10)), ...(await receive(10)), ...(await receive(10))];
  const groups = new Map(
    received.map(({ Body, Attributes }) => [Body, Attributes?.["MessageGroupId"] ?? null]),
  );
  expect(groups.get("a-9")).toBe("large");
  expect(groups.get("none-3")).toBeNull();
  expect(groups.get("one")).toBe("small");
});

test("a message group with characters that SQS does not take is refused", async () => {
  const QueueUrl = emulator.queueUrl("jobs");
  for (const group of ["", "two words", "g".repeat(129), "größe"]) {
    const sent = sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "a", MessageGroupId: group }));
    await expect(sent, group).rejects.toMatchObject({ name: "InvalidParameterValue" });
  }
  const group = "g".repeat(128);
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "a", MessageGroupId: group }));
  expect((await receive(1))[0]?.Attributes?.["MessageGroupId"]).toBe(group);
});

test("a FIFO queue keeps the order of each message group", async () => {
  const QueueUrl = emulator.queueUrl("jobs.fifo");
  for (const MessageBody of ["1", "2", "3"])
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: "g" }));
  for (const body of ["1", "2", "3"]) {
    const [{ Body, ReceiptHandle } = {}] = await receive(1, "jobs.fifo");
    expect(Body).toBe(body);
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  }
});
