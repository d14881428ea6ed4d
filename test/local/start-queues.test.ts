import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { functionsKeyId } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";

const jobs = { name: "jobs", attributes: { VisibilityTimeout: "600" } };
const jobsWithDeadLetters = { ...jobs, deadLetters: { name: "jobs-dead", maxReceiveCount: 2 } };
let dataDir: string;
let emulator: QueueEmulator;
const clients: SQSClient[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-sqs-"));
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(queues: Parameters<typeof startQueues>[0]["queues"] = []): Promise<QueueEmulator> {
  emulator = await startQueues({ dataDir, port: 0, queues });
  return emulator;
}

function client(options: { key?: string; region?: string } = {}): SQSClient {
  const { key = "someone", region = "us-east-1" } = options;
  const made = new SQSClient({
    endpoint: emulator.url,
    region,
    credentials: { accessKeyId: key, secretAccessKey: "secret" },
    maxAttempts: 1,
  });
  clients.push(made);
  return made;
}

async function receive(sqs: SQSClient, queue: string): Promise<{ body: string; handle: string }[]> {
  // A long poll may end early without messages when several wait, so it is repeated, as every
  // consumer does.
  for (let poll = 1; poll <= 5; poll++) {
    const command = new ReceiveMessageCommand({ QueueUrl: emulator.queueUrl(queue), WaitTimeSeconds: 2 });
    const { Messages = [] } = await sqs.send(command);
    if (Messages.length > 0) {
      return Messages.map(({ Body = "", ReceiptHandle = "" }) => ({ body: Body, handle: ReceiptHandle }));
    }
  }
  return [];
}

describe("startQueues", () => {
  test("startQueues creates queues that any SQS client can send to and read, each with a dead-letter queue", async () => {
    await start([jobsWithDeadLetters]);
    const sqs = client();
    await sqs.send(new SendMessageCommand({ QueueUrl: emulator.queueUrl("jobs"), MessageBody: "a" }));
    expect(await receive(sqs, "jobs")).toMatchObject([{ body: "a" }]);
    const asked = new GetQueueAttributesCommand({
      QueueUrl: emulator.queueUrl("jobs"),
      AttributeNames: ["All"],
    });
    const { Attributes } = await sqs.send(asked);
    expect(Attributes).toMatchObject({ VisibilityTimeout: "600" });
    expect(JSON.parse(Attributes?.["RedrivePolicy"] ?? "")).toEqual({
      deadLetterTargetArn: "arn:aws:sqs:us-east-1:000000000000:jobs-dead",
      maxReceiveCount: 2,
    });
  });

  test("startQueues has one region for every client, so that a queue has one name", async () => {
    await start();
    const { QueueUrl } = await client({ region: "eu-central-1" }).send(
      new CreateQueueCommand({ QueueName: "demo" }),
    );
    expect(QueueUrl).toBe(emulator.queueUrl("demo"));
    const found = await client({ region: "us-west-2" }).send(new GetQueueUrlCommand({ QueueName: "demo" }));
    expect(found.QueueUrl).toBe(QueueUrl);
  });

  test("startQueues creates a missing queue for the functions of this process, and for no other client", async () => {
    await start();
    const find = new GetQueueUrlCommand({ QueueName: "demo" });
    await expect(client().send(find)).rejects.toBeInstanceOf(QueueDoesNotExist);
    const { QueueUrl } = await client({ key: functionsKeyId }).send(find);
    expect(QueueUrl).toBe(emulator.queueUrl("demo"));
    expect((await client().send(find)).QueueUrl).toBe(QueueUrl);
  });

  test("startQueues refuses a delay over fifteen minutes, as SQS does", async () => {
    await start([jobs]);
    const QueueUrl = emulator.queueUrl("jobs");
    const sent = client().send(new SendMessageCommand({ QueueUrl, MessageBody: "a", DelaySeconds: 901 }));
    await expect(sent).rejects.toMatchObject({ name: "InvalidParameterValue" });
    const Entries = [{ Id: "1", MessageBody: "a", DelaySeconds: 901 }];
    const batch = client().send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    await expect(batch).rejects.toMatchObject({ name: "InvalidParameterValue" });
  });

  test("startQueues returns messages at once to the queue when their receiver disconnected", async () => {
    await start([jobs]);
    const leaving = new AbortController();
    const QueueUrl = emulator.queueUrl("jobs");
    const poll = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 });
    const left = client().send(poll, { abortSignal: leaving.signal });
    const sqs = client();
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "later", DelaySeconds: 1 }));
    leaving.abort();
    await expect(left).rejects.toThrow();
    expect(await receive(sqs, "jobs")).toMatchObject([{ body: "later" }]);
  });

  test("startQueues lets a reader return a message to the queue", async () => {
    await start([jobs]);
    const QueueUrl = emulator.queueUrl("jobs");
    const sqs = client();
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: "a" }));
    const [first] = await receive(sqs, "jobs");
    const handBack = { QueueUrl, ReceiptHandle: first?.handle, VisibilityTimeout: 0 };
    await sqs.send(new ChangeMessageVisibilityCommand(handBack));
    expect(await receive(sqs, "jobs")).toMatchObject([{ body: "a" }]);
  });

  test("startQueues keeps its messages over a restart on another port, including those that were being processed", async () => {
    await start([jobs]);
    const before = client();
    await before.send(new SendMessageCommand({ QueueUrl: emulator.queueUrl("jobs"), MessageBody: "kept" }));
    expect(await receive(before, "jobs")).toHaveLength(1);
    await emulator.stop();
    await start([jobs]);
    const after = client();
    const { QueueUrl } = await after.send(new GetQueueUrlCommand({ QueueName: "jobs" }));
    expect(QueueUrl).toBe(emulator.queueUrl("jobs"));
    const [kept] = await receive(after, "jobs");
    expect(kept).toMatchObject({ body: "kept" });
    await after.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: kept?.handle }));
  });

  test("startQueues keeps an acknowledged message over kill -9", async () => {
    const script = path.join(import.meta.dirname, "own-queues.ts");
    const owner = spawn(process.execPath, [script, dataDir], { stdio: ["pipe", "pipe", "inherit"] });
    await once(createInterface(owner.stdout), "line");
    owner.kill("SIGKILL");
    await once(owner, "exit");
    await start([jobs]);
    expect(await receive(client(), "jobs")).toMatchObject([{ body: "answered" }]);
  });

  test("startQueues listens on the loopback interface only", async () => {
    await start();
    const outside = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find((address) => !address.internal && address.family === "IPv4");
    if (outside === undefined) return;
    await expect(fetch(`http://${outside.address}:${emulator.port}/health`)).rejects.toThrow();
  });
});
