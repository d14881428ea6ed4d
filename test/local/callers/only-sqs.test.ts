import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type QueueEmulator, startQueues } from "../../../lib/tools/local/queue/start-queues.ts";
import { rawRequest } from "./raw-request.ts";
import { snsForms } from "./sns-forms.ts";

let dataDir: string;
let queues: QueueEmulator;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-only-sqs-"));
  queues = await startQueues({ dataDir, port: 0, queues: [{ name: "jobs", attributes: {} }] });
});
afterEach(async () => {
  await queues.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const json = "application/x-amz-json-1.0";

function post(target: string, type: string, body: string, action = "AmazonSQS.ListQueues") {
  const headers = [
    ["Host", "localhost"],
    ["Content-Type", type],
    ["X-Amz-Target", action],
  ] as const;
  return rawRequest(queues.port, { line: `POST ${target}`, headers, body });
}

async function waiting(): Promise<number> {
  const body = JSON.stringify({ QueueUrl: queues.queueUrl("jobs"), AttributeNames: ["All"] });
  const answer = await post("/", json, body, "AmazonSQS.GetQueueAttributes");
  return Number(JSON.parse(answer.body).Attributes.ApproximateNumberOfMessages);
}

test("the port of the queues takes SQS's JSON protocol, also at the address of a queue", async () => {
  const body = JSON.stringify({ QueueUrl: queues.queueUrl("jobs"), MessageBody: "a" });
  expect((await post("/", json, body, "AmazonSQS.SendMessage")).status).toBe(200);
  const typed = `Application/X-AMZ-JSON-1.0; charset=utf-8`;
  expect((await post("/", typed.toLowerCase(), body, "AmazonSQS.SendMessage")).status).toBe(200);
  expect((await post("/000000000000/jobs", json, body, "AmazonSQS.SendMessage")).status).toBe(200);
  expect(await waiting()).toBe(3);
});

const forms = [
  ...snsForms("jobs", "evil"),
  { Action: "SendMessage", QueueUrl: "/000000000000/jobs", MessageBody: "evil" },
  { Action: "GetCallerIdentity" },
];

test("forms are refused, SNS's as those of SQS's query protocol, in the XML of its clients", async () => {
  for (const form of forms) {
    for (const type of [
      "application/x-www-form-urlencoded",
      "Application/X-WWW-Form-Urlencoded ;charset=utf-8",
    ]) {
      const { status, headers, body } = await post("/", type, new URLSearchParams(form).toString());
      expect([status, headers], form["Action"]).toEqual([415, expect.stringContaining("text/xml")]);
      expect(body).toMatch(
        /<Message>.*JSON protocol \(Content-Type application\/x-amz-json-1\.0\).*<\/Message>/,
      );
    }
  }
  expect(await waiting()).toBe(0);
});

test.each([
  "text/plain",
  `text/plain;charset=${json}`,
  `text/plain; ${json}`,
  "multipart/form-data; boundary=a",
  "application/json",
  `${json}1`,
  "",
])("a request of the type %j, as a page may send it, is answered 404", async (type) => {
  const body = JSON.stringify({ QueueUrl: queues.queueUrl("jobs"), MessageBody: "evil" });
  expect((await post("/", type, body, "AmazonSQS.SendMessage")).status).toBe(404);
  expect(await waiting()).toBe(0);
});

test("the emulator's pages and its S3 are not there, and the answer says what is", async () => {
  const lines = ["GET /", "GET /health", "GET /_fauxqs/queues", "GET /_fauxqs/queues/jobs", "PUT /bucket"];
  for (const line of [
    ...lines,
    "PUT /bucket/key",
    "GET /bucket/key",
    "HEAD /bucket",
    "OPTIONS /",
    "DELETE /bucket",
  ]) {
    const { status, body } = await rawRequest(queues.port, {
      line,
      headers: [
        ["Host", "localhost"],
        ["Content-Type", json],
      ],
    });
    expect(status, line).toBe(404);
    if (!line.startsWith("HEAD")) expect(JSON.parse(body).message, line).toContain("the queues alone");
  }
  for (const target of ["/bucket", "/bucket/key?uploads", "/000000000000/jobs/more", "/?a", "//"])
    expect((await post(target, json, "{}")).status, target).toBe(404);
  const s3 = new S3Client({
    endpoint: queues.url,
    region: "us-east-1",
    credentials: { accessKeyId: "someone", secretAccessKey: "secret" },
    forcePathStyle: true,
    maxAttempts: 1,
  });
  await expect(s3.send(new CreateBucketCommand({ Bucket: "bucket" }))).rejects.toThrow();
  s3.destroy();
});

test("startQueues names the port that is taken, and lets go of its data", async () => {
  const elsewhere = path.join(dataDir, "elsewhere");
  const second = startQueues({ dataDir: elsewhere, port: queues.port, queues: [] });
  await expect(second).rejects.toMatchObject({ name: "PortTaken", port: queues.port });
  const third = await startQueues({ dataDir: elsewhere, port: 0, queues: [] });
  await third.stop();
});
