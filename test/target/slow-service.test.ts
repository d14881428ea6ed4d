import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { SQSClient } from "@aws-sdk/client-sqs";
import { beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { systemClock } from "../../lib/clock.ts";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { settleMs } from "../../lib/target/attempts.ts";
import { requestsInFlight } from "../../lib/target/delivery.ts";
import { eventTarget } from "../../lib/target/event-target.ts";
import { eventSender } from "../../lib/target/put-events.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { messageSender } from "../../lib/target/send-messages.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { monday, second } from "../support/instants.ts";
import { type ManualClock, manualClock } from "../support/manual-clock.ts";

/**
 * SQS and EventBridge that take seconds for each request, on a clock of the test. Lambda ends the
 * fast worker after a minute, and its messages are sent again.
 */

const invocationMs = functionTimeoutSeconds.fastWorker * second;
/** The time that the SDK needs for three attempts of four seconds and the pauses between them. */
const silenceMs = 12_600;

let clock: ManualClock;
let requests: number;

beforeEach(() => {
  clock = manualClock(monday);
  requests = 0;
});

const elapsedMs = () => clock.now().getTime() - Date.parse(monday);
const timeLeftMs = () => invocationMs - elapsedMs();

const askedShape = z.object({
  QueueName: z.string().optional(),
  Entries: z.array(z.object({ Id: z.string().optional() })).optional(),
});

/** Answers each request after this time; a silent service answers none. */
function answering(ms: number, isSilent = false) {
  return async ({ input }: { input: unknown }) => {
    requests += 1;
    await clock.sleep(ms);
    if (isSilent) throw Object.assign(new Error("no answer"), { name: "TimeoutError" });
    const { QueueName, Entries = [] } = askedShape.parse(input);
    const output = {
      QueueUrl: url(QueueName ?? ""),
      Successful: Entries,
      Entries: Entries.map(() => ({ EventId: "1" })),
    };
    return { response: {}, output: { $metadata: {}, ...output } };
  };
}

const config = { region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } };

function slowSqs(ms: number, isSilent?: boolean): SQSClient {
  const sqs = new SQSClient(config);
  sqs.middlewareStack.add(() => answering(ms, isSilent), { step: "initialize", priority: "high" });
  return sqs;
}

function slowBridge(ms: number): EventBridgeClient {
  const events = new EventBridgeClient(config);
  events.middlewareStack.add(() => answering(ms), { step: "initialize", priority: "high" });
  return events;
}

const url = (name: string) => `https://sqs.us-east-1.amazonaws.com/1/${name}`;
const busOf = (bus: string) => ({ event: { bus, source: "carillon", detailType: "due" } });
const many = Array.from({ length: 250 }, (_, n) => n);

/** Advances the clock until the work is done. */
async function passing<Done>(doing: Promise<Done>): Promise<Done> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  doing.then(over, over);
  while (!isOver) await clock.advance(100);
  return doing;
}

function expectDoneInTime(outcomes: readonly { kind: string }[]): void {
  expect(elapsedMs()).toBeLessThanOrEqual(invocationMs - settleMs);
  const kinds = outcomes.map(({ kind }) => kind);
  const done = kinds.filter((kind) => kind === "done").length;
  expect(done).toBeGreaterThan(0);
  expect(kinds.filter((kind) => kind === "back")).toHaveLength(kinds.length - done);
  expect(done).toBeLessThan(kinds.length);
}

test("jobs for a slow FIFO queue that there is no time to send go back, and there is time to settle the others", async () => {
  const deliver = queueTarget({ sqs: slowSqs(3.9 * second), clock, ownUrls: [] });
  const jobs = many.map((n) => claimedJob({ queue: url("orders.fifo") }, { n }));
  const outcomes = await passing(deliver(jobs, { timeLeftMs }));
  expectDoneInTime(outcomes);
  expect(outcomes.slice(0, 120).every(({ kind }) => kind === "done")).toBe(true);
});

test("jobs of ten parcels for one slow queue that are sent together go back if there is no time to send them", async () => {
  const send = messageSender({ sqs: slowSqs(3.9 * second), ownUrls: [], clock: systemClock });
  const messages = many.map((n) => ({
    body: String(n),
    target: { queue: url("demo") },
    id: "",
    orderedBy: "",
  }));
  const parcels = await passing(Promise.all(many.slice(0, 10).map(() => send(messages, timeLeftMs))));
  expectDoneInTime(parcels.flat());
});

test("jobs for many slow queues that there is no time to look up or send to go back", async () => {
  const deliver = queueTarget({ sqs: slowSqs(second), clock, ownUrls: [] });
  const jobs = many.map((n) => claimedJob({ queue: `demo-${n}` }, { n }));
  expectDoneInTime(await passing(deliver(jobs, { timeLeftMs })));
});

test("jobs for many slow buses that there is no time to send go back", async () => {
  const deliver = eventTarget({ events: slowBridge(3.9 * second), clock, sources: ["carillon"] });
  const jobs = many.map((n) => claimedJob(busOf(`bus-${n}`), { n }));
  expectDoneInTime(await passing(deliver(jobs, { timeLeftMs })));
});

test.each([
  ["name", (n: number) => `demo-${n}`],
  ["URL", (n: number) => url(`demo-${n}`)],
  ["URL, FIFO", (n: number) => url(`demo-${n}.fifo`)],
])(
  "after a request without an answer no other queue gets a request, if queues are named by their %s",
  async (_, named) => {
    const deliver = queueTarget({ sqs: slowSqs(silenceMs, true), clock, ownUrls: [] });
    const jobs = many.map((n) => claimedJob({ queue: named(n) }, { n }));
    const outcomes = await passing(deliver(jobs, { timeLeftMs }));
    for (const each of outcomes) expect(each).toMatchObject({ kind: "failed", errorClass: "TimeoutError" });
    expect(requests).toBe(requestsInFlight);
    expect(elapsedMs()).toBeLessThan(silenceMs + second);
  },
);

test("with less time left than a request may take, none begins", async () => {
  const send = messageSender({ sqs: slowSqs(second), ownUrls: [], clock: systemClock });
  const put = eventSender({ events: slowBridge(second), clock: systemClock, sources: ["carillon"] });
  const left = () => 16_999;
  const message = { body: "{}", target: { queue: "demo" }, id: "1", orderedBy: "a" };
  const event = { detail: "{}", time: clock.now(), target: busOf("default") };
  expect(await passing(Promise.all([send([message], left), put([event], left)]))).toEqual([
    [{ kind: "back" }],
    [{ kind: "back" }],
  ]);
  expect(requests).toBe(0);
});
