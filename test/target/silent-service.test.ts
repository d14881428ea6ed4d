import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, onTestFinished, test } from "vitest";
import { systemClock, systemTiming } from "../../lib/clock.ts";
import { requestLimits } from "../../lib/config/aws.ts";
import { silentLog } from "../../lib/log/log.ts";
import { requestsAtOnceMax, sendParcels } from "../../lib/parcel/parcel-queue.ts";
import { requestsInFlight } from "../../lib/target/delivery.ts";
import { eventSender } from "../../lib/target/put-events.ts";
import { messageSender } from "../../lib/target/send-messages.ts";
import { timeEnough } from "../support/delivery-context.ts";
import { serve } from "../support/tls-front.ts";

/**
 * SQS and EventBridge that take requests and answer none. Each request waits for its limit, so the
 * total must not grow with thousands of messages.
 */

async function silentService() {
  let requests = 0;
  const port = await serve((socket) => {
    requests += 1;
    socket.resume();
  });
  const settings = {
    region: "us-east-1",
    endpoint: `http://localhost:${port}`,
    credentials: { accessKeyId: "someone", secretAccessKey: "secret" },
    requestHandler: requestLimits(500),
    maxAttempts: 1,
  };
  const sqs = new SQSClient({ ...settings, useQueueUrlAsEndpoint: false });
  const events = new EventBridgeClient(settings);
  onTestFinished(() => {
    sqs.destroy();
    events.destroy();
  });
  return {
    url: (name: string) => `${settings.endpoint}/000000000000/${name}`,
    sqs,
    events,
    requests: () => requests,
  };
}

const many = Array.from({ length: 500 }, (_, n) => n);
const unanswered = { kind: "failed", giveUp: false, errorClass: "TimeoutError" };

test("after a request without an answer no more messages are sent to that queue", async () => {
  const { sqs, url, requests } = await silentService();
  const send = messageSender({ sqs, ownUrls: [], clock: systemClock });
  const sent = await send(
    many.map((n) => ({ body: String(n), target: { queue: url("demo") }, id: String(n), orderedBy: "a" })),
    timeEnough,
  );
  expect(sent).toHaveLength(many.length);
  for (const each of sent) expect(each).toMatchObject(unanswered);
  expect(requests()).toBe(requestsInFlight);
});

test("after a request without an answer no more messages are sent to that FIFO queue", async () => {
  const { sqs, url, requests } = await silentService();
  const send = messageSender({ sqs, ownUrls: [], clock: systemClock });
  const sent = await send(
    many.map((n) => ({
      body: String(n),
      target: { queue: url("demo.fifo") },
      id: String(n),
      orderedBy: "a",
    })),
    timeEnough,
  );
  expect(sent).toHaveLength(many.length);
  for (const each of sent) expect(each).toMatchObject(unanswered);
  expect(requests()).toBe(1);
});

test("after a request without an answer no more events are put", async () => {
  const { events, requests } = await silentService();
  const put = eventSender({ events, clock: systemClock, sources: ["carillon"] });
  const event = { bus: "default", source: "carillon", detailType: "due" };
  const sent = await put(
    many.map((n) => ({ detail: String(n), time: new Date(0), target: { event } })),
    timeEnough,
  );
  expect(sent).toHaveLength(many.length);
  for (const each of sent) expect(each).toMatchObject(unanswered);
  expect(requests()).toBe(requestsInFlight);
});

test("after a request without an answer no more parcels are sent, and the parcels of that request do not count as sent", async () => {
  const { sqs, url, requests } = await silentService();
  const urls = { fast: url("fast"), slow: url("slow") };
  const queue = { sqs, urls, log: silentLog, timing: systemTiming };
  const parcels = many.map((n) => ({ id: String(n + 1), queue: "fast" as const, waitMs: 0 }));
  expect((await sendParcels(queue, parcels)).sent).toEqual([]);
  expect(requests()).toBe(requestsAtOnceMax);
});
