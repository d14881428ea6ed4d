import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keyLengthMax } from "../../lib/schedule/shape/schedule-key.ts";
import { payloadBytesMax } from "../../lib/schedule/shape/schedule-shape.ts";
import { attributeBytes, attributeBytesMax } from "../../lib/schedule/shape/target-shape.ts";
import { done } from "../../lib/target/delivery.ts";
import { envelope } from "../../lib/target/envelope.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { functionsKeyId, localAccount, localQueueArn } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { at, minute, second } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

let dataDir: string;
let emulator: QueueEmulator;
let functions: SQSClient;
let stranger: SQSClient;

const clientAs = (accessKeyId: string) =>
  new SQSClient({
    endpoint: emulator.url,
    region: "us-east-1",
    credentials: { accessKeyId, secretAccessKey: "secret" },
    useQueueUrlAsEndpoint: false,
    maxAttempts: 1,
  });

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-target-"));
  emulator = await startQueues({ dataDir, port: 0, queues: [{ name: "carillon-fast", attributes: {} }] });
  functions = clientAs(functionsKeyId);
  stranger = clientAs("stranger");
});

afterEach(async () => {
  functions.destroy();
  stranger.destroy();
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function target(sqs = functions, ownUrl = emulator.queueUrl("carillon-fast")) {
  const deliver = queueTarget({
    sqs,
    clock: manualClock(at(3 * second).toISOString()),
    ownUrls: [ownUrl],
  });
  return (jobs: Parameters<typeof deliver>[0]) => deliver(jobs, deliveryContext());
}

const job = (
  queue: string,
  parts: Parameters<typeof claimedJob>[1] & { groupId?: string; attributes?: Record<string, string> } = {},
) => {
  const { groupId, attributes, ...rest } = parts;
  return claimedJob(
    {
      queue,
      ...(groupId === undefined ? {} : { groupId }),
      ...(attributes === undefined ? {} : { attributes }),
    },
    rest,
  );
};

async function received(queue: string, wanted: number): Promise<Message[]> {
  const all: Message[] = [];
  for (let poll = 0; poll < 20 && all.length < wanted; poll++) {
    const { Messages = [] } = await functions.send(
      new ReceiveMessageCommand({
        QueueUrl: emulator.queueUrl(queue),
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 1,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      }),
    );
    all.push(...Messages);
  }
  return all;
}

test("a message is the CloudEvents envelope, and nothing else", async () => {
  expect(await target()([job("demo", { dueAt: at(second), attempt: 1, key: "order:1 ü" })])).toEqual([done]);
  const [message] = await received("demo", 1);
  expect(JSON.parse(message?.Body ?? "")).toEqual({
    specversion: "1.0",
    type: "carillon.job.due",
    source: "carillon",
    id: `7-${at(0).getTime()}-c0`,
    subject: "order:1 ü",
    time: "2026-03-02T10:00:01.000Z",
    datacontenttype: "application/json",
    data: { n: 1 },
    schedulekey: "order:1 ü",
    scheduleid: "7",
    attempt: 2,
    generatedat: "2026-03-02T10:00:03.000Z",
  });
});

test("a queue is found by its name, its ARN and its URL", async () => {
  const names = ["demo", localQueueArn("demo"), emulator.queueUrl("demo")];
  expect(await target()(names.map((name) => job(name)))).toEqual([done, done, done]);
  expect(await received("demo", 3)).toHaveLength(3);
});

test("many messages go in requests of ten, and every one arrives once", async () => {
  const jobs = Array.from({ length: 34 }, (_, n) => job(n % 2 === 0 ? "even" : "odd", { payload: n, n }));
  expect(await target()(jobs)).toEqual(jobs.map(() => done));
  const payloads = async (queue: string) =>
    (await received(queue, 17)).map(({ Body }) => JSON.parse(Body ?? "").data).sort((a, b) => a - b);
  expect(await payloads("even")).toEqual(Array.from({ length: 17 }, (_, n) => 2 * n));
  expect(await payloads("odd")).toEqual(Array.from({ length: 17 }, (_, n) => 2 * n + 1));
});

test("large payloads go in requests of a quarter of a megabyte, including their attributes", async () => {
  const payload = "x".repeat(240 * 1024 - 2);
  expect(await target()([1, 2, 3].map((n) => job("large", { payload, n })))).toEqual([done, done, done]);
  const attributes = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`a${n}`, "y".repeat(1_000)]));
  const requests: number[] = [];
  functions.middlewareStack.add(
    (next) => (args) => {
      if ("Entries" in args.input && Array.isArray(args.input.Entries))
        requests.push(args.input.Entries.length);
      return next(args);
    },
    { step: "initialize" },
  );
  const heavy = Array.from({ length: 10 }, (_, n) =>
    job("large", { payload: "x".repeat(20_000), n, attributes }),
  );
  expect(await target()(heavy)).toEqual(heavy.map(() => done));
  // Each has 20 KB in its body and 10 KB in its attributes: eight of them fit into 250,000 bytes.
  expect(requests).toEqual([8, 2]);
});

test("the largest payload, key and attributes that are accepted fit into one message together", async () => {
  const attributes = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`a${n}`, "y".repeat(1_000)]));
  const largest = job("large", {
    key: "鐘".repeat(keyLengthMax),
    payload: "\uffff".repeat(Math.floor((payloadBytesMax - 2) / 6)),
    attributes: { ...attributes, a9: "y".repeat(attributeBytesMax - attributeBytes({ attributes }) + 1_000) },
  });
  const bytes = Buffer.byteLength(envelope(largest, at(0))) + attributeBytes(largest.target);
  expect(bytes).toBeLessThanOrEqual(256 * 1024);
  expect(await target()([largest])).toEqual([done]);
});

test("attributes are sent as text", async () => {
  await target()([job("demo", { attributes: { tenant: "a ü", "x.y": "2" } })]);
  const [message] = await received("demo", 1);
  expect(message?.MessageAttributes).toMatchObject({
    tenant: { DataType: "String", StringValue: "a ü" },
    "x.y": { DataType: "String", StringValue: "2" },
  });
});

test("a FIFO queue gets the job's id for its deduplication, so that a second attempt is not a second message", async () => {
  const first = job("orders.fifo", { groupId: "eu" });
  expect(await target()([first, job("orders.fifo", { n: 1 })])).toEqual([done, done]);
  expect(await target()([{ ...first, attempt: 1 }])).toEqual([done]);
  const messages = await received("orders.fifo", 2);
  const id = `7-${at(0).getTime()}-c`;
  expect(
    messages.map(({ Attributes }) => [Attributes?.MessageGroupId, Attributes?.MessageDeduplicationId]).sort(),
  ).toEqual(
    [
      ["eu", `${id}0`],
      ["order:1", `${id}1`],
    ].sort(),
  );
  expect(messages).toHaveLength(2);
});

test("a message whose target names no group is in the group of its schedule's key, hashed if SQS would not take the key", async () => {
  const keys = ["order:1", "k".repeat(128), "k".repeat(129), "order 2", "bestellung:ü"];
  expect(await target()(keys.map((key, n) => job("grouped.fifo", { key, n })))).toEqual(keys.map(() => done));
  const messages = await received("grouped.fifo", keys.length);
  const groups = messages.map(({ Attributes }) => Attributes?.MessageGroupId);
  expect(new Set(groups).size).toBe(keys.length);
  expect(groups.filter((group) => group?.startsWith("sha256:"))).toHaveLength(3);
  expect(groups).toEqual(expect.arrayContaining(["order:1", "k".repeat(128)]));
});

test("jobs of one FIFO group arrive in their order, however many requests they take", async () => {
  const jobs = Array.from({ length: 35 }, (_, n) => job("ordered.fifo", { groupId: "one", n }));
  expect(await target()(jobs)).toEqual(jobs.map(() => done));
  const order: (string | undefined)[] = [];
  while (order.length < jobs.length) {
    for (const { Attributes, ReceiptHandle } of await received("ordered.fifo", 1)) {
      order.push(Attributes?.MessageDeduplicationId);
      // The next message of a group is delivered after the one before is deleted.
      const QueueUrl = emulator.queueUrl("ordered.fifo");
      await functions.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
  }
  expect(order).toEqual(jobs.map(({ n }) => `7-${at(0).getTime()}-c${n}`));
});

test("a missing queue fails its own jobs, is looked up again each time, and fails no other job", async () => {
  const deliver = target(stranger);
  await functions.send(new CreateQueueCommand({ QueueName: "there" }));
  const jobs = [job("nowhere"), job("there"), job(localQueueArn("nowhere"))];
  const [missing, other, byArn] = await deliver(jobs);
  expect(missing).toMatchObject({
    kind: "failed",
    giveUp: false,
    error: expect.stringContaining("QueueDoesNotExist"),
  });
  expect(byArn).toMatchObject({ kind: "failed" });
  expect(other).toEqual(done);
  await functions.send(new CreateQueueCommand({ QueueName: "nowhere" }));
  expect(await deliver(jobs)).toEqual([done, done, done]);
  await functions.send(new DeleteQueueCommand({ QueueUrl: emulator.queueUrl("nowhere") }));
  expect((await deliver(jobs)).map(({ kind }) => kind)).toEqual(["failed", "done", "failed"]);
});

const otherAccount = "111111111111";

test.each(["carillon-fast", "arn", "arn of another account", "url", "url of another account"])(
  "Carillon's own queues cannot be targets (%s)",
  async (form) => {
    const arn = localQueueArn("carillon-fast");
    const url = emulator.queueUrl("carillon-fast");
    const queue =
      {
        arn,
        "arn of another account": arn.replace(localAccount, otherAccount),
        url,
        "url of another account": url.replace(localAccount, otherAccount),
      }[form] ?? form;
    expect(await target()([job(queue)])).toMatchObject([{ kind: "failed", giveUp: true }]);
  },
);

test("In AWS a queue of another account may have the name of one of Carillon's own", async () => {
  const urlIn = (account: string) => `https://sqs.us-east-1.amazonaws.com/${account}/carillon-fast`;
  const deliver = target(functions, urlIn("123456789012"));
  expect(await deliver([job(urlIn(otherAccount))])).toEqual([done]);
  expect(await deliver([job(urlIn("123456789012"))])).toMatchObject([{ kind: "failed", giveUp: true }]);
});

test("a message that SQS refuses or leaves out of its answer fails alone", async () => {
  functions.middlewareStack.add(
    (next, context) => async (args) => {
      if (context["commandName"] !== SendMessageBatchCommand.name) return next(args);
      const output = {
        Successful: [{ Id: "2", MessageId: "m", MD5OfMessageBody: "" }],
        Failed: [{ Id: "0", Code: "InternalError", Message: "later", SenderFault: false }],
        $metadata: {},
      };
      return { output, response: {} };
    },
    { step: "initialize" },
  );
  expect(await target()([0, 1, 2].map((n) => job("demo", { n })))).toEqual([
    { kind: "failed", giveUp: false, error: "SQS refused the message: InternalError later" },
    { kind: "failed", giveUp: false, error: "SQS returned no outcome for the message." },
    done,
  ]);
});

test("an SQS that is away fails every job, each to be retried", async () => {
  const deliver = target();
  await emulator.stop();
  const deliveries = await deliver([job("demo"), job("http://127.0.0.1:9/000000000000/demo")]);
  expect(deliveries).toMatchObject(Array(2).fill({ kind: "failed", giveUp: false }));
  emulator = await startQueues({ dataDir, port: 0, queues: [] });
});

test("text that SQS does not take in a message reaches the queue all the same", async () => {
  const payload = { text: "a\uFFFEb\uFFFFc\u0001" };
  expect(await target()([job("demo", { payload, dueAt: at(minute) })])).toEqual([done]);
  const [message] = await received("demo", 1);
  expect(JSON.parse(message?.Body ?? "").data).toEqual(payload);
});

test.each([
  "arn:aws:sqs:eu-west-1:000000000000:demo",
  "https://sqs.eu-west-1.amazonaws.com/000000000000/demo",
])("a queue of another region is refused for good, without a look-up in this region (%s)", async (queue) => {
  expect(await target()([job(queue)])).toMatchObject([{ kind: "failed", giveUp: true }]);
});
