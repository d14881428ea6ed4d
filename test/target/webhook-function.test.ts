import { LambdaClient } from "@aws-sdk/client-lambda";
import { expect, test } from "vitest";
import { silentLog } from "../../lib/log/log.ts";
import { webhookFunction } from "../../lib/target/webhook-function.ts";
import { startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import type { WebhookRequest } from "../../lib/webhook/webhook-request.ts";

const request: WebhookRequest = {
  id: "1-0-c0",
  url: "https://example.com/hook",
  method: "POST",
  headers: {},
  body: "{}",
  secrets: [],
  timeoutMs: 1_000,
};

// A worker of the last release works with the webhook sender of this one until it is replaced. If it could
// not read the answer, the job would fail after the receiver has got it, and the receiver would get it again.
test.each([
  { kind: "answered", status: 200, retryAfterMs: null, excerpt: "" },
  { kind: "refused", error: "The address is private." },
  { kind: "failed", error: "No answer came." },
])("a worker understands an answer of the webhook sender that has further members: $kind", async (answer) => {
  await using stop = new AsyncDisposableStack();
  const functions = new Map([["sender", async () => ({ ...answer, newer: { tls: "1.3" } })]]);
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
  expect(await sendWebhook(request, AbortSignal.timeout(10_000))).toEqual(answer);
});
