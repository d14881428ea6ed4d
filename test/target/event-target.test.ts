import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { silentLog } from "../../lib/log/log.ts";
import type { EventTarget } from "../../lib/schedule/shape/target-shape.ts";
import { done } from "../../lib/target/delivery.ts";
import { eventTarget } from "../../lib/target/event-target.ts";
import { type EventsEndpoint, startEvents } from "../../lib/tools/local/events/start-events.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { at, second } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

let dataDir: string;
let endpoint: EventsEndpoint;
let events: EventBridgeClient;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-bus-"));
  endpoint = await startEvents({ dataDir, port: 0, send: async () => {}, log: silentLog });
  events = new EventBridgeClient({
    endpoint: endpoint.url,
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    maxAttempts: 1,
  });
});

afterEach(async () => {
  events.destroy();
  await endpoint.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function target() {
  const deliver = eventTarget({
    events,
    clock: manualClock(at(3 * second).toISOString()),
    sources: ["carillon", "shop", "sales.*"],
  });
  return (jobs: Parameters<typeof deliver>[0]) => deliver(jobs, deliveryContext());
}
const byDefault = { bus: "default", source: "carillon", detailType: "carillon.job.due" };
const job = (event: Partial<typeof byDefault> = {}, parts: Parameters<typeof claimedJob>[1] = {}) =>
  claimedJob({ event: { ...byDefault, ...event } }, parts);

async function arrived(): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${endpoint.url}/events?limit=100`);
  const answer: unknown = await response.json();
  return z.object({ items: z.array(z.record(z.string(), z.unknown())) }).parse(answer).items;
}

test("an event has the CloudEvents envelope as its detail, with the source and on the bus of its target", async () => {
  const named = { bus: "orders", source: "shop", detailType: "order.due" };
  expect(await target()([job(named, { dueAt: at(second), attempt: 2 }), job()])).toEqual([done, done]);
  const [second_, first] = await arrived();
  const [custom, standard] = first?.["bus"] === "orders" ? [first, second_] : [second_, first];
  expect(custom).toMatchObject({
    bus: "orders",
    source: "shop",
    "detail-type": "order.due",
    time: "2026-03-02T10:00:01Z",
    detail: {
      specversion: "1.0",
      type: "carillon.job.due",
      source: "carillon",
      id: `7-${at(0).getTime()}-c0`,
      subject: "order:1",
      time: "2026-03-02T10:00:01.000Z",
      datacontenttype: "application/json",
      data: { n: 1 },
      schedulekey: "order:1",
      scheduleid: "7",
      attempt: 3,
      generatedat: "2026-03-02T10:00:03.000Z",
    },
  });
  expect(standard).toMatchObject({ bus: "default", source: "carillon", "detail-type": "carillon.job.due" });
});

test("many events go in requests of ten, large ones in requests of a quarter of a megabyte", async () => {
  const jobs = Array.from({ length: 25 }, (_, n) => job({}, { payload: { n }, n }));
  expect(await target()(jobs)).toEqual(jobs.map(() => done));
  expect(await arrived()).toHaveLength(25);
  const large = [1, 2, 3].map((n) =>
    job({ source: `sales.${"s".repeat(250)}` }, { payload: "x".repeat(240 * 1024 - 2), n }),
  );
  expect(await target()(large)).toEqual([done, done, done]);
});

test("an event that the bus refuses fails alone: the bus answers in the order of the request", async () => {
  const jobs = [job({}, { n: 0 }), job({ detailType: "x".repeat(129) }, { n: 1 }), job({}, { n: 2 })];
  expect(await target()(jobs)).toEqual([
    done,
    { kind: "failed", giveUp: false, error: expect.stringContaining("InvalidArgument") },
    done,
  ]);
});

describe("stored targets that the deployment does not allow", () => {
  const notAmong =
    "The event was not sent: target.event.source is not among the sources of events that schedules may use here: allowed are carillon, shop, sales.*.";
  const reserved = (path: string) =>
    expect.stringMatching(`^The event was not sent: target\\.event\\.${path} may`);

  test.each<[Partial<typeof byDefault>, unknown]>([
    [{ source: "billing" }, notAmong],
    [{ source: "Carillon" }, notAmong],
    [{ source: "carillon " }, notAmong],
    [{ source: "sales" }, notAmong],
    [{ source: "aws.ec2" }, reserved("source")],
    [{ source: "AWS.ec2" }, reserved("source")],
    [{ source: " aws.ec2" }, reserved("source")],
    [{ detailType: "carillon.job.dead" }, reserved("detailType")],
    [{ source: "shop", detailType: "Carillon.Job.Dead " }, reserved("detailType")],
    [{ detailType: " carillon.job.due" }, reserved("detailType")],
  ])(
    "a job with the event %j is dead at once, and the other jobs of its request are sent",
    async (event, error) => {
      const jobs = [job({}, { n: 0 }), job(event, { n: 1 }), job({ source: "sales.eu" }, { n: 2 })];
      expect(await target()(jobs)).toEqual([done, { kind: "failed", giveUp: true, error }, done]);
      const sources = (await arrived()).map(({ source }) => source);
      expect(sources.toSorted()).toEqual(["carillon", "sales.eu"]);
    },
  );

  test("a damaged target without a source is refused, and the other jobs of its request are sent", async () => {
    const damaged: EventTarget = JSON.parse('{"event":{"bus":"default","detailType":"due"}}');
    expect(await target()([claimedJob(damaged, { n: 0 }), job({}, { n: 1 })])).toEqual([
      { kind: "failed", giveUp: true, error: notAmong },
      done,
    ]);
  });
});

test("a bus that is away fails every job, each to be retried", async () => {
  await endpoint.stop();
  expect(await target()([job(), job()])).toMatchObject([
    { kind: "failed", giveUp: false },
    { kind: "failed", giveUp: false },
  ]);
  endpoint = await startEvents({ dataDir, port: 0, send: async () => {}, log: silentLog });
});

test("a request that a bus refuses fails no job of another bus", async () => {
  events.middlewareStack.add(
    (next) => (args) => {
      if (JSON.stringify(args.input).includes('"forbidden"')) throw new Error("AccessDenied");
      return next(args);
    },
    { step: "initialize" },
  );
  const outcomes = await target()([job({ bus: "forbidden" }), job(), job({ bus: "orders" })]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(["failed", "done", "done"]);
});
