import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { silentLog } from "../../lib/log/log.ts";
import { startTestClock, type TestClockStack } from "../../lib/tools/testing/http/start-test-clock.ts";
import { kit } from "./kit.ts";

const now = "2027-03-27T12:00:00.000Z";
const token = "test-token";
const authorization = `Bearer ${token}`;

let stack: TestClockStack;
let api: string;
let receiver: Server;
let receiverPort: number;
/** Acts on each webhook, before it is answered with the status that this returns. */
let onWebhook: (body: string) => Promise<number>;

// The first start of the kit's server makes its template, on a busy machine for a while.
beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(await onWebhook(Buffer.concat(chunks).toString())).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  receiverPort = (receiver.address() as AddressInfo).port;
  stack = await startTestClock({
    port: 0,
    now,
    token,
    handlers: [],
    webhookAllow: `127.0.0.1:${receiverPort}`,
    eventSources: undefined,
    targetPrefixes: [],
    pageName: "test",
    log: silentLog,
  });
  api = stack.url;
}, 100_000);

afterAll(async () => {
  await stack.stop();
  receiver.close();
});

beforeEach(async () => {
  onWebhook = async () => 200;
  await call("POST", "/test/reset", {});
});

const answerOf = (response: Response) => response.json() as Promise<unknown>;

async function request(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${api}${path}`, {
    method,
    headers: { authorization, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await request(method, path, body);
  const answer = await answerOf(response);
  expect(response.ok, JSON.stringify(answer)).toBe(true);
  return answer;
}

const put = (key: string, body: object) => call("PUT", `/v1/schedules/${key}`, body);
const advance = (duration: string) => call("POST", "/test/clock", { advance: duration });
const items = async <Item>(path: string, shape: z.ZodType<Item>): Promise<Item[]> =>
  z.object({ items: z.array(shape) }).parse(await call("GET", path)).items;

test("A test in any language lets thirty days pass over HTTP and reads the deliveries at their times", async () => {
  await put("report", { when: "30 2 * * *", timezone: "Europe/Berlin", target: { queue: "reports" } });
  expect(await advance("30d")).toEqual({ now: "2027-04-26T12:00:00.000Z" });
  const sent = await items("/test/deliveries?key=report", z.object({ at: z.string(), target: z.string() }));
  expect(sent).toHaveLength(30);
  expect(sent.slice(0, 2)).toEqual([
    { at: "2027-03-28T01:00:00.000Z", target: "reports" },
    { at: "2027-03-29T00:30:00.000Z", target: "reports" },
  ]);
  const jobs = await items("/test/jobs", z.object({ state: z.string() }));
  expect(jobs.filter(({ state }) => state === "succeeded")).toHaveLength(30);
  expect(await call("GET", "/test/clock")).toEqual({ now: "2027-04-26T12:00:00.000Z" });
  expect(await call("POST", "/test/clock", { to: "2027-04-26T14:00:00+02:00" })).toEqual({
    now: "2027-04-26T12:00:00.000Z",
  });
});

test("A reset opens a database without schedules and deliveries, at the instant that it names", async () => {
  await put("report", { when: "every 1h", target: { queue: "reports" } });
  await advance("1h");
  expect(await call("POST", "/test/reset", { now: "2027-10-30T00:00:00Z" })).toEqual({
    now: "2027-10-30T00:00:00.000Z",
  });
  expect(await call("GET", "/v1/schedules")).toEqual({ items: [] });
  expect(await call("GET", "/test/deliveries")).toEqual({ items: [] });
});

test("Faults that are asked for over HTTP happen: an attempt fails, and an outage is made up", async () => {
  await put("hook", {
    when: "*/30 * * * *",
    target: { queue: "demo" },
    catchUp: { policy: "all" },
    retry: { attempts: 2, backoff: "fixed", base: "5m", jitter: "none" },
  });
  await call("POST", "/test/faults", { failNext: { key: "hook", error: "HTTP 503" } });
  await advance("40m");
  const runs = await items(
    "/test/runs?key=hook",
    z.object({ at: z.string(), outcome: z.string(), error: z.string().nullable() }),
  );
  expect(runs.map(({ at, outcome, error }) => `${at.slice(11, 16)} ${outcome} ${error ?? ""}`)).toEqual([
    "12:30 failed HTTP 503",
    "12:35 succeeded ",
  ]);
  await call("POST", "/test/faults", { ticksMissing: "1h" });
  await advance("2h");
  const made = await items("/test/jobs?key=hook", z.object({ dueAt: z.string(), state: z.string() }));
  expect(made.map(({ dueAt, state }) => `${dueAt.slice(11, 16)} ${state}`)).toEqual([
    "12:30 succeeded",
    "13:00 succeeded",
    "13:30 succeeded",
    "14:00 succeeded",
    "14:30 succeeded",
  ]);
});

test("A webhook to an allowed address is sent while the clock stands, and its receiver may edit its schedule", async () => {
  const got: string[] = [];
  onWebhook = async (body) => {
    got.push(z.object({ time: z.string() }).parse(JSON.parse(body)).time.slice(11, 16));
    if (got.length === 2) await call("PATCH", "/v1/schedules/hook", { when: "every 30m" });
    return got.length === 1 ? 503 : 200;
  };
  await put("hook", {
    when: "every 1h",
    target: { webhook: { url: `http://127.0.0.1:${receiverPort}/in` } },
    retry: { attempts: 2, backoff: "fixed", base: "5m", jitter: "none" },
  });
  await advance("2h30m");
  expect(got).toEqual(["13:00", "13:00", "13:35", "14:05"]);
});

test("While one request moves the clock, a second one is refused and the first goes on", async () => {
  let second: unknown;
  onWebhook = async () => {
    const answer = await request("POST", "/test/clock", { advance: "1h" });
    second = [answer.status, await answerOf(answer)];
    return 200;
  };
  const webhook = { url: `http://127.0.0.1:${receiverPort}/in` };
  await put("hook", { when: "at 2027-03-27T12:10:00Z", target: { webhook } });
  expect(await advance("20m")).toEqual({ now: "2027-03-27T12:20:00.000Z" });
  expect(second).toMatchObject([409, { detail: expect.stringContaining("another request") }]);
});

test.each([
  [{ advance: "3 fortnights" }, 400, "takes a duration such as"],
  [{ advance: "1h", to: "2027-04-01T00:00:00Z" }, 400, "takes either advance"],
  [{ to: "2027-04-01T00:00:00" }, 400, "takes an instant such as"],
  [{ to: "2027-03-01T00:00:00Z" }, 422, "does not go back"],
])("The clock refuses %j and says what it takes", async (body, status, said) => {
  const answer = await request("POST", "/test/clock", body);
  expect([answer.status, JSON.stringify(await answerOf(answer))]).toEqual([
    status,
    expect.stringContaining(said),
  ]);
});

test("The clock needs the admin token, and the API behind it is the deployed one", async () => {
  expect((await fetch(`${api}/test/clock`)).status).toBe(401);
  expect((await fetch(`${api}/v1/schedules`)).status).toBe(401);
  const refused = await request("PUT", "/v1/schedules/x", { when: "30 25 * * *", target: { queue: "q" } });
  expect(refused.status).toBe(400);
  expect((await request("GET", "/test/other")).status).toBe(404);
});

test("The deployed function of the API knows no test clock", async () => {
  await using carillon = await kit({ now });
  const { fetch: reach, url, token } = carillon.connection;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const answer = await reach(`${url}/test/clock`, { method: "POST", headers, body: '{"advance":"1h"}' });
  expect([answer.status, carillon.now().toISOString()]).toEqual([404, now]);
});
