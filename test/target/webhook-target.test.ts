import { createHmac } from "node:crypto";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { assemble } from "../../functions/webhook.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log/log.ts";
import { targetShape } from "../../lib/schedule/shape/target-shape.ts";
import type { WebhookTarget } from "../../lib/schedule/shape/target-webhook-shape.ts";
import { done } from "../../lib/target/delivery.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { webhookFunction } from "../../lib/target/webhook-function.ts";
import { type SendWebhook, webhookTarget } from "../../lib/target/webhook-target.ts";
import { localFunction } from "../../lib/tools/local/lambda/local-function.ts";
import { startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import {
  type WebhookAnswer,
  type WebhookRequest,
  webhookRequest,
} from "../../lib/webhook/webhook-request.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { at, minute, second } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { receiver } from "../webhook/receiver.ts";

const newer = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const older = `whsec_${Buffer.alloc(24, 2).toString("base64")}`;

function hook(parts: object): WebhookTarget {
  const target = targetShape.parse({ webhook: { url: "https://example.com/hook", ...parts } });
  if ("webhook" in target) return target;
  throw new Error("The target is not a webhook.");
}

const job = (target: object = {}, parts: Parameters<typeof claimedJob>[1] = {}) =>
  claimedJob(hook(target), parts);

const now = at(3 * second);

/** A target whose sender gives this answer, and the requests that it received. */
function answering(answer: WebhookAnswer | SendWebhook) {
  const asked: WebhookRequest[] = [];
  const clock = manualClock(now.toISOString());
  const sendWebhook: SendWebhook = async (request, signal) => {
    asked.push(request);
    return typeof answer === "function" ? answer(request, signal) : answer;
  };
  return { asked, clock, deliver: webhookTarget({ sendWebhook, sealedKeys: async () => ({}), clock }) };
}

const answered = (
  status: number,
  parts: { retryAfterMs?: number; excerpt?: string } = {},
): WebhookAnswer => ({
  kind: "answered",
  status,
  retryAfterMs: null,
  excerpt: "",
  ...parts,
});

describe("the request to the sender", () => {
  test("the request to the sender has the envelope, the target's settings, and the attempt's own time", async () => {
    const { asked, deliver } = answering(answered(200));
    const headers = { authorization: "Bearer abc" };
    const target = { method: "PUT", headers, secret: [newer, older] };
    expect(await deliver([job(target, { attempt: 2, timeout: "45s" })], deliveryContext())).toEqual([done]);
    const { body = "", ...request } = asked[0] ?? {};
    expect(request).toEqual({
      id: `7-${at(0).getTime()}-c0`,
      url: "https://example.com/hook",
      method: "PUT",
      headers,
      secrets: [newer, older],
      timeoutMs: 44_500,
    });
    expect(JSON.parse(body)).toMatchObject({ id: asked[0]?.id, data: { n: 1 }, attempt: 3 });
  });

  test("the request to the sender ends before the worker does", async () => {
    const { asked, deliver } = answering(answered(200));
    await deliver([job({}, { timeout: "10m" })], deliveryContext({ timeLeftMs: () => 60_500.7 }));
    expect(asked[0]?.timeoutMs).toBe(57_000);
  });
});

describe("the receiver's answer", () => {
  test.each([200, 201, 202, 204, 299])("the status %i is success", async (status) => {
    expect(await answering(answered(status)).deliver([job()], deliveryContext())).toEqual([done]);
  });

  test("the status 410 makes the attempt the last, and holds the schedule", async () => {
    expect(await answering(answered(410)).deliver([job()], deliveryContext())).toEqual([
      {
        kind: "failed",
        giveUp: true,
        error: "The receiver answered 410.",
        hold: "The receiver answered 410 Gone.",
      },
    ]);
  });

  test.each([301, 302, 304, 307, 308])(
    "the status %i is a failure: redirects are not followed",
    async (status) => {
      const [delivery] = await answering(answered(status)).deliver([job()], deliveryContext());
      expect(delivery).toEqual({
        kind: "failed",
        giveUp: false,
        error: `The receiver answered ${status}: redirects are not followed. Use the URL that it redirects to.`,
      });
    },
  );

  test.each([100, 400, 401, 404, 500, 503])(
    "the status %i is a failure with an excerpt of the answer",
    async (status) => {
      const answer = answered(status, { excerpt: "no such order" });
      expect(await answering(answer).deliver([job()], deliveryContext())).toEqual([
        { kind: "failed", giveUp: false, error: `The receiver answered ${status}: no such order` },
      ]);
    },
  );

  test.each([
    [5 * second, 5 * second],
    [48 * 60 * minute, 24 * 60 * minute],
  ])("a Retry-After of %i ms is honoured, up to a day", async (retryAfterMs, waitMs) => {
    const [delivery] = await answering(answered(429, { retryAfterMs })).deliver([job()], deliveryContext());
    expect(delivery).toMatchObject({
      kind: "failed",
      giveUp: false,
      retryAt: new Date(now.getTime() + waitMs),
    });
  });

  test("a Retry-After of zero leaves the wait to the schedule's backoff", async () => {
    const [delivery] = await answering(answered(503, { retryAfterMs: 0 })).deliver(
      [job()],
      deliveryContext(),
    );
    expect(delivery).not.toHaveProperty("retryAt");
  });

  test("a missing answer, or a forbidden URL, is a failed attempt", async () => {
    for (const kind of ["refused", "failed"] as const)
      expect(await answering({ kind, error: "why" }).deliver([job()], deliveryContext())).toEqual([
        { kind: "failed", giveUp: false, error: "why" },
      ]);
  });

  test("each job has its own answer, and a sender that breaks fails the job it broke at", async () => {
    const { deliver } = answering(async ({ id }) => {
      if (id.endsWith("c1")) throw new Error("the sender broke");
      return answered(id.endsWith("c2") ? 500 : 200);
    });
    expect(
      await deliver(
        [0, 1, 2].map((n) => job({}, { n })),
        deliveryContext(),
      ),
    ).toMatchObject([
      done,
      { kind: "failed", error: "Error: the sender broke" },
      { kind: "failed", error: "The receiver answered 500." },
    ]);
  });

  test("the answer is waited for until the timeout, or until the job is cancelled; then no timer remains", async () => {
    const ended: unknown[] = [];
    const { deliver, clock, asked } = answering(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            ended.push(signal.reason.why);
            reject(signal.reason);
          });
        }),
    );
    const cancelled = new Stop();
    const jobs = [job({}, { timeout: "5s" }), job({}, { n: 1, timeout: "1m" })];
    const delivering = deliver(
      jobs,
      deliveryContext({ stopOf: ({ n }) => (n === 1 ? cancelled : new Stop()) }),
    );
    expect(asked).toHaveLength(2);
    cancelled.come(new AttemptStopped("cancelled", "The job was cancelled."));
    await clock.advance(5 * second);
    expect(await delivering).toMatchObject([
      { kind: "failed", error: "AttemptStopped: The attempt took longer than 5s." },
      { kind: "cancelled" },
    ]);
    expect(ended).toEqual(["cancelled", "timeout"]);
  });
});

describe("through Lambda's protocol, the function that sends and a real receiver", () => {
  let stop: AsyncDisposableStack;
  beforeEach(() => {
    stop = new AsyncDisposableStack();
  });
  afterEach(() => stop.disposeAsync());

  async function wholeWay({
    status = 204,
    allow = true,
    endless = false,
  }: {
    status?: number;
    allow?: boolean;
    endless?: boolean;
  } = {}) {
    const { host, url, received } = await receiver((response) => {
      response.writeHead(status, { location: "https://example.com/" });
      if (endless) response.write("and ");
      else response.end();
    });
    const env = { CARILLON_LOG: "silent", ...(allow ? { CARILLON_WEBHOOK_ALLOW: host } : {}) };
    const webhook = localFunction(
      { name: "webhook", assemble, env, timeoutMs: minute, concurrency: 5 },
      { clock: systemClock, log: silentLog },
    );
    stop.defer(() => webhook.close(0));
    const functions = new Map([["sender", (event: unknown) => webhook.invoke(webhookRequest.parse(event))]]);
    const server = await startLambda({ port: 0, functions, elsewhere: undefined, log: silentLog });
    stop.defer(() => server.close(0));
    const lambda = new LambdaClient({
      endpoint: server.url,
      region: "us-east-1",
      credentials: { accessKeyId: "own", secretAccessKey: "own" },
      maxAttempts: 1,
    });
    stop.defer(() => lambda.destroy());
    const sendWebhook = webhookFunction(lambda, "sender");
    return {
      received,
      url,
      deliver: webhookTarget({ sendWebhook, sealedKeys: async () => ({}), clock: systemClock }),
    };
  }

  test("a webhook arrives signed by both secrets, as Standard Webhooks verify it", async () => {
    const { received, url, deliver } = await wholeWay();
    const target = {
      url,
      secret: [newer, older],
      headers: { "x-kind": "order", Authorization: "Bearer abc" },
    };
    expect(await deliver([job(target, { payload: { text: "ü\uFFFE" } })], deliveryContext())).toEqual([done]);
    const { method, headers = {}, body = "" } = received[0] ?? {};
    expect([method, headers["x-kind"], headers["authorization"]]).toEqual(["POST", "order", "Bearer abc"]);
    expect(JSON.parse(body)).toMatchObject({ id: headers["webhook-id"], data: { text: "ü\uFFFE" } });
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
    const signature = (secret: string) =>
      `v1,${createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64"))
        .update(signed)
        .digest("base64")}`;
    expect(headers["webhook-signature"]).toBe(`${signature(newer)} ${signature(older)}`);
  });

  test.each([
    [200, done],
    [503, { kind: "failed", error: "The receiver answered 503: and" }],
  ])("the status %i counts, though the receiver goes on sending its answer", async (status, delivery) => {
    const { url, deliver } = await wholeWay({ status, endless: true });
    // Real time, which is used up by the answer. On a busy machine the connection alone takes a second.
    expect(await deliver([job({ url }, { timeout: "4s" })], deliveryContext())).toMatchObject([delivery]);
  });

  test("a redirect is a failure, and is not followed", async () => {
    const { received, url, deliver } = await wholeWay({ status: 301 });
    expect(await deliver([job({ url })], deliveryContext())).toMatchObject([
      { kind: "failed", giveUp: false },
    ]);
    expect(received).toHaveLength(1);
  });

  test("an address that is not public is reached only if it is allowed", async () => {
    const { received, url, deliver } = await wholeWay({ allow: false });
    expect(await deliver([job({ url, secret: newer })], deliveryContext())).toMatchObject([
      { kind: "failed", giveUp: false, error: expect.not.stringContaining(newer) },
    ]);
    expect(received).toEqual([]);
  });
});
