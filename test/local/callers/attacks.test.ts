import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { type Browser, chromium as driver } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { listenOnLoopback } from "../../../lib/tools/local/http-server.ts";
import { chromium } from "../../support/chromium.ts";
import { runNode } from "../../support/run-node.ts";
import { until } from "../../support/until.ts";
import { type StackProcess, startProcess, waitingIn } from "../local-stack.ts";
import { rawRequest } from "./raw-request.ts";
import { snsForms } from "./sns-forms.ts";

// A start takes seconds, and many times as long on a busy machine.
const slow = { timeout: 120_000 };
const evil = "evil.example";
const app = "http://localhost:5173";
const stop = new AsyncDisposableStack();
let stack: StackProcess;
let ports: { api: number; sqs: number; events: number };

beforeAll(async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-attacks-"));
  stop.defer(() => rmSync(folder, { recursive: true, force: true }));
  // As `npm start` does first, for the test that opens the page.
  await runNode(`await import("./infra/tools/package/fresh-page.ts");`, {});
  stack = await startProcess(path.join(folder, "data"), {
    CARILLON_HOSTS: "carillon.test",
    CARILLON_CORS_ORIGINS: app,
  });
  stop.defer(async () => void (await stack.end("SIGTERM")));
  const portOf = (url: string) => Number(new URL(url).port);
  ports = { api: portOf(stack.urls.api), sqs: portOf(stack.urls.sqs), events: portOf(stack.urls.events) };
}, 120_000);
afterAll(() => stop.disposeAsync());

const command = (key: string) => JSON.stringify({ put: { key, when: "in 1d", target: { queue: "demo" } } });
/** These made a schedule: a topic of the emulator's SNS sent a command to the queue of commands. */
const forms = snsForms("carillon-ingest", command("evil"));

/** A request of the SDK, as text. */
const sending = () => ({
  "content-type": "application/x-amz-json-1.0",
  "x-amz-target": "AmazonSQS.SendMessage",
  body: JSON.stringify({
    QueueUrl: `${stack.urls.sqs}/000000000000/carillon-ingest`,
    MessageBody: command("evil"),
  }),
});

const list = z.object({ items: z.array(z.looseObject({ key: z.string() })) });

/** Sends a command as programs do, waits until all are applied, and returns the keys of all schedules. */
async function keysAfter(key: string): Promise<string[]> {
  const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
  const sqs = new SQSClient({ endpoint: stack.urls.sqs, region: "us-east-1", credentials });
  const QueueUrl = `${stack.urls.sqs}/000000000000/carillon-ingest`;
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: command(key) }));
  sqs.destroy();
  await until(
    "the queue of commands is empty",
    async () => (await waitingIn(stack, "carillon-ingest")) === 0,
  );
  const answer = await stack.request("GET", "/v1/schedules");
  return list.parse(await answer.json()).items.map((each) => each.key);
}

test("requests of a page, without a browser, make no schedule and read nothing", slow, async () => {
  const { body, ...headers } = sending();
  const origin = [
    ["Host", `127.0.0.1:${ports.sqs}`],
    ["Origin", `http://${evil}`],
  ] as const;
  const rebound = [["Host", `${evil}:${ports.sqs}`]] as const;
  for (const from of [origin, rebound]) {
    for (const form of forms) {
      const type = ["Content-Type", "application/x-www-form-urlencoded"] as const;
      const text = new URLSearchParams(form).toString();
      const answer = await rawRequest(ports.sqs, { line: "POST /", headers: [...from, type], body: text });
      expect(answer.status).toBe(403);
    }
    const all = [...from, ...Object.entries(headers)];
    expect((await rawRequest(ports.sqs, { line: "POST /", headers: all, body })).status).toBe(403);
    const put = {
      line: "PUT /v1/schedules/evil",
      headers: [...from, ["Authorization", "Bearer test-token"] as const],
    };
    expect((await rawRequest(ports.api, { ...put, body: "{}" })).status).toBe(403);
    const read = await rawRequest(ports.events, { line: "GET /events", headers: from });
    expect([read.status, read.body]).toEqual([403, expect.not.stringContaining("items")]);
  }
  expect(await keysAfter("own:raw")).toEqual(["own:raw"]);
});

test("the hosts and origins of the settings reach each port", async () => {
  const health = { line: "GET /health", headers: [["Host", "carillon.test"]] as const };
  expect((await rawRequest(ports.api, health)).status).toBe(200);
  expect((await rawRequest(ports.sqs, health)).status).toBe(404);
  expect((await rawRequest(ports.events, { ...health, line: "GET /events" })).status).toBe(200);
  const preflight = [
    ["Host", "localhost"],
    ["Origin", app],
    ["Access-Control-Request-Method", "PUT"],
  ] as const;
  const answer = await rawRequest(ports.api, { line: "OPTIONS /v1/schedules/a", headers: preflight });
  expect([answer.status, answer.headers]).toEqual([
    204,
    expect.stringContaining(`access-control-allow-origin: ${app}`),
  ]);
});

describe.runIf(chromium !== undefined)("in a Chromium", slow, () => {
  let browser: Browser;
  let site: string;

  beforeAll(async () => {
    browser = await driver.launch({
      executablePath: chromium ?? "",
      args: ["--no-sandbox", "--disable-dev-shm-usage", `--host-resolver-rules=MAP ${evil} 127.0.0.1`],
      timeout: 80_000,
    });
    stop.defer(() => browser.close());
    const server = await listenOnLoopback(0, (_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Evil</title>");
    });
    stop.defer(() => server.close(0));
    site = `http://${evil}:${server.port}/`;
  }, 120_000);

  async function pageOn(address: string) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(address);
    return { page, close: () => context.close() };
  }

  test("the forms and requests of another site make no schedule, and it reads nothing", async () => {
    const { page, close } = await pageOn(site);
    const statuses: number[] = [];
    page.context().on("response", (response) => {
      if (!response.url().startsWith(site)) statuses.push(response.status());
    });
    for (const form of forms) {
      await page.goto(site);
      await page.setContent(formOf(stack.urls.sqs, form));
      await page.getByRole("button").click();
      await page.waitForURL(`${stack.urls.sqs}/`);
    }
    expect(statuses).toEqual([403, 403, 403]);
    await page.goto(site);
    const { body, ...headers } = sending();
    const read = await page.evaluate(attack, { ...stack.urls, forms: [...forms], headers, body });
    expect(read).toEqual(read.map(() => "nothing"));
    expect(read.length).toBe(11);
    expect(new Set(statuses.slice(3))).toEqual(new Set([403]));
    await close();
    expect(await keysAfter("own:site")).toEqual(expect.not.arrayContaining(["evil"]));
  });

  test("a site whose name leads to this machine (DNS rebinding) reads and sends nothing", async () => {
    const { body, ...headers } = sending();
    for (const port of Object.values(ports)) {
      const own = `http://${evil}:${port}`;
      const { page, close } = await pageOn(`${own}/`);
      expect(await page.textContent("body")).toContain(`The host \\"${evil}:${port}\\" is refused.`);
      const told = await page.evaluate(sameOrigin, { headers, body });
      expect(told).toEqual(told.map(() => 403));
      expect(told.length).toBe(7);
      await close();
    }
    expect(await keysAfter("own:rebound")).toEqual(expect.not.arrayContaining(["evil"]));
  });

  test("a link of another site opens the page, which works, and a frame of it stays empty", async () => {
    const { page, close } = await pageOn(site);
    const address = `${stack.urls.api}/#token=test-token`;
    await page.setContent(`<a href="${address}">Page</a>`);
    await page.getByRole("link", { name: "Page" }).click();
    await page.locator("main h1").first().waitFor();
    expect(await page.getByText("is refused").count()).toBe(0);
    await page.goto(site);
    const framed = page.waitForResponse((response) => response.url().startsWith(stack.urls.api));
    await page.setContent(`<iframe src="${stack.urls.api}"></iframe>`);
    expect((await framed).status()).toBe(403);
    await close();
  });
});

function formOf(action: string, fields: Readonly<Record<string, string>>): string {
  const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value='${value}'>`);
  return `<form method="post" action="${action}">${inputs.join("")}<button>Send</button></form>`;
}

interface Attack {
  api: string;
  sqs: string;
  events: string;
  forms: Record<string, string>[];
  headers: Record<string, string>;
  body: string;
}

/** Runs in the page: what it could read of each answer. */
async function attack({ api, sqs, events, forms, headers, body }: Attack): Promise<string[]> {
  const read: string[] = [];
  const sent = async (url: string, init: RequestInit = {}) => {
    try {
      read.push((await (await fetch(url, init)).text()) || "nothing");
    } catch {
      read.push("nothing");
    }
  };
  const unseen = { method: "POST", mode: "no-cors" } as const;
  for (const form of forms) await sent(sqs, { ...unseen, body: new URLSearchParams(form) });
  const plain = { "content-type": "text/plain;charset=application/x-amz-json-1.0" };
  await sent(sqs, { ...unseen, headers: plain, body });
  await sent(sqs, { method: "POST", headers, body });
  await sent(`${sqs}/_fauxqs/queues`);
  await sent(`${events}/events`);
  await sent(`${events}/events`, { mode: "no-cors" });
  await sent(`${api}/v1/schedules`, { headers: { authorization: "Bearer test-token" } });
  await sent(`${api}/v1/schedules/evil`, {
    ...unseen,
    headers: { "content-type": "text/plain" },
    body: "{}",
  });
  await sent(`${api}/test/clock`, { ...unseen, body: "{}" });
  return read;
}

/** Runs in the page whose site leads to the port: the status of each answer. */
async function sameOrigin({
  headers,
  body,
}: {
  headers: Record<string, string>;
  body: string;
}): Promise<number[]> {
  const statuses: number[] = [];
  const sent = async (url: string, init: RequestInit = {}) =>
    void statuses.push((await fetch(url, init)).status);
  await sent("/", { method: "POST", headers, body });
  await sent("/", {
    method: "POST",
    headers: { ...headers, "x-amz-target": "AmazonSQS.ListQueues" },
    body: "{}",
  });
  await sent("/_fauxqs/queues");
  await sent("/events");
  await sent("/health");
  await sent("/v1/schedules", { headers: { authorization: "Bearer test-token" } });
  await sent("/v1/schedules/evil", { method: "PUT", headers: { authorization: "Bearer test-token" }, body });
  return statuses;
}
