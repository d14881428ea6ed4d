import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { silentLog } from "../../lib/log/log.ts";
import { startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import { readSettings } from "../../lib/tools/local/settings.ts";
import { until } from "../support/until.ts";
import { receiver } from "../webhook/receiver.ts";
import { type StackProcess, startProcess } from "./local-stack.ts";

let folder: string;
let stop: AsyncDisposableStack;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-slow-"));
  stop = new AsyncDisposableStack();
  stop.defer(() => rmSync(folder, { recursive: true, force: true }));
});

afterEach(() => stop.disposeAsync());

async function start(env: Record<string, string>): Promise<StackProcess> {
  const stack = await startProcess(path.join(folder, "data"), env);
  stop.defer(async () => {
    await stack.end("SIGTERM");
  });
  return stack;
}

const jobs = z.object({ items: z.array(z.object({ state: z.string(), error: z.string().nullable() })) });

/** The one job of a schedule, once it is in one of these states. */
function jobOf(stack: StackProcess, key: string, states: readonly string[]) {
  return until(`the job of ${key} is ${states.join(" or ")}`, async () => {
    const answer = await stack.request("GET", `/v1/schedules/${key}/jobs`);
    const [job] = jobs.parse(await answer.json()).items;
    return job !== undefined && states.includes(job.state) && job;
  });
}

async function put(stack: StackProcess, key: string, target: object): Promise<void> {
  const answer = await stack.request("PUT", `/v1/schedules/${key}`, { when: "in 1s", target });
  expect([answer.status, answer.status === 201 ? "" : await answer.text()]).toEqual([201, ""]);
}

const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;

test("the stack delivers jobs to a webhook and to a function, the webhook signed", async () => {
  const { host, url, received } = await receiver((response) => response.writeHead(204).end());
  const events: unknown[] = [];
  const noting = async (event: unknown) => {
    events.push(event);
    if (events.length === 1) throw new RangeError("too far");
  };
  const lambda = await startLambda({
    port: 0,
    functions: new Map([["resize", noting]]),
    elsewhere: undefined,
    log: silentLog,
  });
  stop.defer(() => lambda.close(0));
  const stack = await start({ CARILLON_WEBHOOK_ALLOW: host, CARILLON_LAMBDA_URL: lambda.url });

  await put(stack, "called", { webhook: { url, secret, headers: { authorization: "Bearer canary" } } });
  await put(stack, "invoked", { lambda: "resize", invocation: "sync" });
  await jobOf(stack, "called", ["succeeded"]);
  const { headers = {}, body = "" } = received[0] ?? {};
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  expect(headers["webhook-signature"]).toBe(
    `v1,${createHmac("sha256", key).update(signed).digest("base64")}`,
  );
  expect(JSON.parse(body)).toMatchObject({ subject: "called", id: headers["webhook-id"] });

  expect((await jobOf(stack, "invoked", ["retrying"])).error).toBe("RangeError: too far");
  expect(events).toMatchObject([{ subject: "invoked", attempt: 1 }]);
  for (const canary of [secret, "canary", "hidden-key"]) expect(stack.printed()).not.toContain(canary);
});

test("without an emulator of Lambda, a job for a function fails with a message that names the remedy", async () => {
  const stack = await start({});
  await put(stack, "invoked", { lambda: "resize" });
  const { error } = await jobOf(stack, "invoked", ["retrying"]);
  expect(error).toContain("The function resize is not run here.");
  expect(error).toContain("set CARILLON_LAMBDA_URL to its URL");
  const refused = await stack.request("PUT", "/v1/schedules/inside", {
    when: "in 1s",
    target: { webhook: { url: "http://127.0.0.1:9000/" } },
  });
  expect(refused.status).toBe(422);
});

test.each([
  ["CARILLON_WEBHOOK_ALLOW", "127.0.0.1"],
  ["CARILLON_WEBHOOK_ALLOW", "http://127.0.0.1:9000"],
  ["CARILLON_TARGET_EVENT_SOURCES", "carillon,*"],
  ["CARILLON_TARGET_EVENT_SOURCES", "AWS.ec2"],
  ["CARILLON_TARGET_PREFIXES", "billing:=billing-*"],
  ["CARILLON_LAMBDA_URL", "127.0.0.1:3001"],
  ["CARILLON_LAMBDA_URL", "nonsense"],
  ["CARILLON_CORS_ORIGINS", "http://localhost:5173,*"],
  ["CARILLON_PAGE_NAME", "-"],
  ["CARILLON_QUOTAS", "schedules=many"],
  ["CARILLON_PREFIX_WEIGHTS", "billing:=0"],
  ["CARILLON_PAGE_NAME", "x".repeat(41)],
  ["INGEST_PREFIX", "team/"],
  ["DATABASE_PREPARE", "no"],
])("%s=%s is refused when the stack starts, not when a job needs it", (variable, value) => {
  expect(() => readSettings({ [variable]: value })).toThrow(variable);
});
