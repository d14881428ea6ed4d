import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sendingTimeouts, withoutSdkLog } from "../../lib/config/aws.ts";
import { silentLog } from "../../lib/log/log.ts";
import { parcelQueueFrom } from "../../lib/parcel/parcel-queue-from.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";

let dataDir: string;
let emulator: QueueEmulator;

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-aws-"));
  emulator = await startQueues({ dataDir, port: 0, queues: [{ name: "jobs", attributes: {} }] });
});

afterAll(async () => {
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const region = "us-east-1";
const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };

test("a client without the SDK's log sends like any other, and copies no request for a log", async () => {
  const logged: string[] = [];
  const logger = {
    debug: () => {},
    info: ({ commandName }: { commandName: string }) => logged.push(commandName),
    warn: () => {},
    error: () => {},
  };
  const settings = {
    endpoint: emulator.url,
    region,
    credentials,
    logger,
  };
  const send = (client: SQSClient) =>
    client.send(new SendMessageCommand({ QueueUrl: emulator.queueUrl("jobs"), MessageBody: "work" }));

  const logging = new SQSClient(settings);
  expect((await send(logging)).MessageId).toEqual(expect.any(String));
  expect(logged, "the SDK still logs what its clients send").toEqual(["SendMessageCommand"]);

  const quiet = withoutSdkLog(new SQSClient(settings));
  expect((await send(quiet)).MessageId).toEqual(expect.any(String));
  expect(logged).toEqual(["SendMessageCommand"]);

  logging.destroy();
  quiet.destroy();
});

test("a request that gets no answer is given up", async () => {
  const mute = createServer((socket) => socket.resume());
  await new Promise<void>((listening) => mute.listen(0, "127.0.0.1", listening));
  const { port } = mute.address() as AddressInfo;
  const sqs = new SQSClient({
    endpoint: `http://127.0.0.1:${port}`,
    region,
    credentials,
    maxAttempts: 1,
    requestHandler: { ...sendingTimeouts, requestTimeout: 20 },
  });
  await expect(
    sqs.send(new SendMessageCommand({ QueueUrl: `http://127.0.0.1:${port}/1/jobs`, MessageBody: "work" })),
  ).rejects.toMatchObject({ name: "TimeoutError" });
  sqs.destroy();
  mute.close();
});

test("parcels and messages to queues are sent by a client without the SDK's log", async () => {
  const queueUrl = emulator.queueUrl("jobs");
  const { sqs } = parcelQueueFrom(
    {
      AWS_REGION: region,
      AWS_ENDPOINT_URL_SQS: emulator.url,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      FAST_QUEUE_URL: queueUrl,
      SLOW_QUEUE_URL: queueUrl,
    },
    silentLog,
  );
  await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: "work" }));
  expect(sqs.config.requestHandler).toMatchObject({ config: sendingTimeouts });
  sqs.destroy();
});
