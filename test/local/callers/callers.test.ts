import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { silentLog } from "../../../lib/log/log.ts";
import { startEvents } from "../../../lib/tools/local/events/start-events.ts";
import { localFunction } from "../../../lib/tools/local/lambda/local-function.ts";
import { startHttp } from "../../../lib/tools/local/lambda/start-http.ts";
import { startLambda } from "../../../lib/tools/local/lambda/start-lambda.ts";
import { startQueues } from "../../../lib/tools/local/queue/start-queues.ts";
import { noPage } from "../../support/no-page.ts";
import { type RawRequest, rawRequest } from "./raw-request.ts";

const names = ["api", "queues", "events", "lambda"] as const;
type Name = (typeof names)[number];

const clock = systemClock;
const log = silentLog;
const allowed = "http://localhost:5173";
const hosts = ["carillon.test"];
const ports = new Map<Name, number>();
const stop = new AsyncDisposableStack();

beforeAll(async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "carillon-callers-"));
  stop.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const assemble = () => ({ handler: async () => ({ statusCode: 200, body: "API" }), close: async () => {} });
  const api = localFunction(
    { name: "api", assemble, env: {}, timeoutMs: 29_000, concurrency: 1 },
    { clock, log },
  );
  const callers = { hosts, origins: [allowed] };
  const http = await startHttp({ port: 0, callers, api, page: noPage, clock, log });
  stop.defer(() => http.close(0));
  const queue = { name: "jobs", attributes: {} };
  const queues = await startQueues({ dataDir: path.join(dataDir, "sqs"), port: 0, hosts, queues: [queue] });
  stop.defer(() => queues.stop());
  const events = await startEvents({ dataDir, port: 0, hosts, send: async () => {}, log });
  stop.defer(() => events.stop());
  const lambda = await startLambda({ port: 0, functions: new Map(), elsewhere: undefined, log });
  stop.defer(() => lambda.close(0));
  for (const [name, { port }] of Object.entries({ api: http, queues, events, lambda }))
    for (const each of names) if (each === name) ports.set(each, port);
});
afterAll(() => stop.disposeAsync());

const portOf = (name: Name) => ports.get(name) ?? 0;

/** A request that the port answers, but for these headers. */
const harmless: Record<Name, RawRequest> = {
  api: { line: "GET /health" },
  queues: {
    line: "POST /",
    headers: [
      ["Content-Type", "application/x-amz-json-1.0"],
      ["X-Amz-Target", "AmazonSQS.ListQueues"],
    ],
    body: "{}",
  },
  events: { line: "GET /events" },
  lambda: { line: "GET /" },
};

/** The status of the answer to such a request. */
const answered: Record<Name, number> = { api: 200, queues: 200, events: 200, lambda: 404 };

const send = (name: Name, headers: RawRequest["headers"] = [], more: RawRequest = {}) =>
  rawRequest(portOf(name), {
    ...harmless[name],
    ...more,
    headers: [...(harmless[name].headers ?? []), ...headers],
  });

const host = (value: string) => [["Host", value]] as const;

describe.each(names)("the port of %s", (name) => {
  test.each(["127.0.0.1", "localhost", "LocalHost", "localhost.", "[::1]", "127.0.0.1:1", "[::1]:65535"])(
    "answers a request to %s",
    async (value) => {
      expect((await send(name, host(value))).status).toBe(answered[name]);
    },
  );

  test.each([
    "evil.example",
    "evil.example:8787",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil.localhost",
    "evil.example@localhost",
    "localhost:8787@evil.example",
    "localhost evil.example",
    "localhost:x",
    "127.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "host.docker.internal",
  ])("refuses a request to %s, and names the hosts that are allowed", async (value) => {
    const { status, headers, body } = await send(name, host(value));
    expect(status).toBe(403);
    expect(headers).toContain("x-amzn-errortype: forbiddenexception");
    expect(JSON.parse(body).message).toContain(`The host ${JSON.stringify(value)} is refused.`);
    expect(JSON.parse(body).message).toContain("127.0.0.1, localhost, [::1]");
    expect(JSON.parse(body).message).toContain("CARILLON_HOSTS");
  });

  test("refuses a request that names no host, or another one in its target", async () => {
    const none = await send(name, [], { version: "1.0" });
    expect([none.status, none.body]).toEqual([403, expect.stringContaining("names no host")]);
    for (const target of [
      "http://evil.example/",
      "http://evil.example:8787/health",
      "HTTP://localhost@EVIL.example",
    ]) {
      const { status, body } = await send(name, host("localhost"), { line: `GET ${target}` });
      expect([status, body], target).toEqual([403, expect.stringMatching(/evil.example/i)]);
    }
  });

  test.each([
    "https://evil.example",
    "http://evil.example:8787",
    "http://localhost:3000",
    "http://127.0.0.1:1",
    "null",
    "file://",
    "",
  ])("refuses a request of a page of the origin %j", async (origin) => {
    const { status, body } = await send(name, [...host("localhost:8787"), ["Origin", origin]]);
    expect(status).toBe(403);
    expect(JSON.parse(body).message).toContain(`A page of the origin ${JSON.stringify(origin)}`);
    expect(JSON.parse(body).message).toContain(
      name === "api" ? `CARILLON_CORS_ORIGINS: ${allowed}` : "no page",
    );
  });

  test.each(["cross-site", "same-site"])(
    "refuses a request of a page of another origin (%s) whose browser names no origin",
    async (site) => {
      const headers = [...host("localhost"), ["Sec-Fetch-Site", site]] as const;
      expect((await send(name, [...headers, ["Sec-Fetch-Mode", "no-cors"]])).status).toBe(403);
      const frame = [...headers, ["Sec-Fetch-Mode", "navigate"], ["Sec-Fetch-Dest", "iframe"]] as const;
      expect((await send(name, frame)).status).toBe(403);
    },
  );
});

const opened = [
  ["Sec-Fetch-Site", "cross-site"],
  ["Sec-Fetch-Mode", "navigate"],
  ["Sec-Fetch-Dest", "document"],
] as const;

test.each(["api", "events"] as const)(
  "a link to the port of %s opens in a tab, and a form does not",
  async (name) => {
    expect((await send(name, [...host("localhost"), ...opened])).status).toBe(200);
    expect((await send(name, [...host("localhost"), ...opened], { line: "POST /health" })).status).toBe(403);
  },
);

test("the API answers its own page under each of its hosts, and pages of the allowed origins", async () => {
  for (const own of ["localhost:8787", "127.0.0.1:8787", "Carillon.Test"]) {
    const origin = `http://${own.toLowerCase()}`;
    expect((await send("api", [...host(own), ["Origin", origin]])).status, own).toBe(200);
  }
  // A proxy that ends TLS is in front.
  expect((await send("api", [...host("carillon.test"), ["Origin", "https://carillon.test"]])).status).toBe(
    200,
  );
  expect((await send("api", [...host("localhost:8787"), ["Origin", allowed]])).status).toBe(200);
  const own = [
    ["Sec-Fetch-Site", "same-origin"],
    ["Sec-Fetch-Mode", "cors"],
  ] as const;
  expect((await send("api", [...host("localhost:8787"), ...own])).status).toBe(200);
});

test.each(["queues", "events"] as const)("the port of %s answers no page, not even its own", async (name) => {
  const { status } = await send(name, [...host("localhost:8788"), ["Origin", "http://localhost:8788"]]);
  expect(status).toBe(403);
});

test("the hosts of CARILLON_HOSTS are allowed at each port that others may call", async () => {
  for (const name of ["api", "queues", "events"] as const)
    expect((await send(name, host("CARILLON.test:8080"))).status, name).toBe(200);
  expect((await send("lambda", host("carillon.test"))).status).toBe(403);
});

const here = { address: "127.0.0.1", family: 4 };

test("a client of SQS shows why its request was refused", async () => {
  const client = new SQSClient({
    endpoint: `http://evil.example:${portOf("queues")}`,
    requestHandler: { httpAgent: new Agent({ lookup: (_host, _options, found) => found(null, [here]) }) },
    region: "us-east-1",
    credentials: { accessKeyId: "someone", secretAccessKey: "secret" },
    maxAttempts: 1,
  });
  const sent = client.send(new SendMessageCommand({ QueueUrl: "jobs", MessageBody: "a" }));
  await expect(sent).rejects.toMatchObject({
    name: "ForbiddenException",
    message: expect.stringContaining('The host "evil.example:'),
  });
  client.destroy();
});
