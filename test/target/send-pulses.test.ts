import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { done, failed, type Sent, thrown } from "../../lib/target/delivery.ts";
import { type BusEvent, eventSender } from "../../lib/target/put-events.ts";
import { messageSender, type QueueMessage } from "../../lib/target/send-messages.ts";
import { pulseSender } from "../../lib/target/send-pulses.ts";
import { timeEnough } from "../support/delivery-context.ts";
import { at } from "../support/instants.ts";

let messages: QueueMessage[];
let events: BusEvent[];
/** The outcome of a message or an event; a test replaces it. */
let fate: (body: string) => Sent;

beforeEach(() => {
  messages = [];
  events = [];
  fate = () => done;
});

const sender = pulseSender({
  send: async (sent) => {
    messages.push(...sent);
    return sent.map(({ body }) => fate(body));
  },
  put: async (put) => {
    events.push(...put);
    return put.map(({ detail }) => fate(detail));
  },
});

const due = at(0);
const envelope = (id: number, text = "") => `{"id":"${id}-5000-c0","subject":"key ${id}","data":"${text}"}`;
const envelopes = (count: number, text = "") => Array.from({ length: count }, (_, id) => envelope(id, text));

test("each pulse is a message, in a FIFO queue with its id and in the order of its schedule", async () => {
  const sent = await sender(
    [
      { target: { queue: "plain" }, envelopes: envelopes(2) },
      { target: { queue: "orders.fifo" }, envelopes: envelopes(1) },
    ],
    due,
    timeEnough,
  );
  expect(sent).toEqual([
    { taken: 2, failed: [], refused: 0, unmade: [], failure: null },
    { taken: 1, failed: [], refused: 0, unmade: [], failure: null },
  ]);
  expect(messages).toMatchObject([
    { body: envelope(0), id: "0-5000-c0" },
    { body: envelope(1), id: "1-5000-c0" },
    { body: envelope(0), id: "0-5000-c0", orderedBy: "key 0", target: { queue: "orders.fifo" } },
  ]);
});

test("pulses up to the target's batch are one message, marked as a CloudEvents batch, and no larger than SQS takes", async () => {
  const target = { queue: "demo", batch: 4, attributes: { own: "1" } };
  const [many] = await sender([{ target, envelopes: envelopes(10) }], due, timeEnough);
  expect(many).toMatchObject({ taken: 10 });
  expect(messages.map(({ body }) => JSON.parse(body).length)).toEqual([4, 4, 2]);
  expect(messages.flatMap(({ body }) => JSON.parse(body))).toEqual(
    envelopes(10).map((text) => JSON.parse(text)),
  );
  expect(messages[0]?.target.attributes).toEqual({
    own: "1",
    "content-type": "application/cloudevents-batch+json",
  });
  messages = [];
  await sender(
    [{ target: { queue: "demo", batch: 1_000 }, envelopes: envelopes(100, "ü".repeat(5_000)) }],
    due,
    timeEnough,
  );
  expect(messages.length).toBe(5);
  expect(messages.every(({ body }) => Buffer.byteLength(body) <= 240_001)).toBe(true);
});

test("a target with ten attributes of its own gets no further one", async () => {
  const attributes = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`a${n}`, "1"]));
  await sender(
    [{ target: { queue: "demo", batch: 2, attributes }, envelopes: envelopes(1) }],
    due,
    timeEnough,
  );
  expect(messages[0]?.target.attributes).toEqual(attributes);
});

test("each pulse is an event of its own, at its due time", async () => {
  const target = { event: { bus: "default", source: "carillon", detailType: "carillon.job.due" } };
  await sender([{ target, envelopes: envelopes(2) }], due, timeEnough);
  expect(events).toEqual(envelopes(2).map((detail) => ({ detail, time: due, target })));
});

test("the outcome names the pulses that may be tried again, a batch as a whole", async () => {
  fate = (body) =>
    body.includes("key 5")
      ? thrown(new RangeError("full"))
      : body.includes("own")
        ? failed("own", true)
        : done;
  const sent = await sender(
    [
      { target: { queue: "demo", batch: 4 }, envelopes: envelopes(10) },
      { target: { queue: "ours" }, envelopes: envelopes(3, "own") },
    ],
    due,
    timeEnough,
  );
  expect(sent).toMatchObject([
    {
      taken: 6,
      failed: [4, 5, 6, 7].map((id) => envelope(id)),
      refused: 0,
      failure: { errorClass: "RangeError" },
    },
    { taken: 0, failed: [], refused: 3, failure: { giveUp: true } },
  ]);
});

test("pulses that were not sent may be tried again", async () => {
  fate = () => ({ kind: "back" });
  const sent = await sender([{ target: { queue: "demo" }, envelopes: envelopes(2) }], due, timeEnough);
  expect(sent).toMatchObject([
    {
      taken: 0,
      failed: envelopes(2),
      refused: 0,
      failure: { error: expect.stringMatching(/^It was not sent:/) },
    },
  ]);
});

let clients: { sqs: SQSClient; bridge: EventBridgeClient };

beforeEach(() => {
  const settings = {
    region: "us-east-1",
    endpoint: "http://127.0.0.1:1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    maxAttempts: 1,
  };
  clients = { sqs: new SQSClient(settings), bridge: new EventBridgeClient(settings) };
});

afterEach(() => {
  clients.sqs.destroy();
  clients.bridge.destroy();
});

test("if the service does not answer, all pulses may be tried again", async () => {
  const away = pulseSender({
    send: messageSender({ sqs: clients.sqs, ownUrls: [], clock: systemClock }),
    put: eventSender({ events: clients.bridge, clock: systemClock, sources: ["carillon"] }),
  });
  const bus = { event: { bus: "default", source: "carillon", detailType: "due" } };
  const sent = await away(
    [
      { target: { queue: "demo", batch: 5 }, envelopes: envelopes(12) },
      { target: bus, envelopes: envelopes(12) },
    ],
    due,
    timeEnough,
  );
  expect(sent).toMatchObject([
    { taken: 0, failed: envelopes(12), refused: 0 },
    { taken: 0, failed: envelopes(12), refused: 0 },
  ]);
});
