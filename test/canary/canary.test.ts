import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { type CanarySettings, canaryFrom, canaryKeys } from "../../lib/canary/canaries.ts";
import { canaryHandler } from "../../lib/canary/canary-handler.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { emfMetrics } from "../../lib/log/emf.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { functionsKeyId, localRegion } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { connectAsMember } from "../support/role-logins.ts";

const minutes = 5;
const keys = Object.values(canaryKeys);
const told = z.object({ CanaryMs: z.number(), function: z.string(), queue: z.string() });

let world: Carillon;
let emulator: QueueEmulator;
let dataDir: string;
let sqs: SQSClient;
let worker: Sql;
let metrics: z.output<typeof told>[];
let canary: CanarySettings;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-canary-"));
  emulator = await startQueues({ dataDir, port: 0, queues: [{ name: "canary", attributes: {} }] });
  const credentials = { accessKeyId: functionsKeyId, secretAccessKey: functionsKeyId };
  sqs = new SQSClient({ endpoint: emulator.url, region: localRegion, credentials });
  world = await carillon({
    roles: async (owner, url) => {
      worker = await connectAsMember(owner, url, "carillon_handler", 2);
      return { tick: await connectAsMember(owner, url, "carillon_tick"), worker, api: connectAs(url) };
    },
  });
  canary = { minutes, queue: emulator.queueUrl("canary") };
  metrics = [];
  // The real deliveries: to SQS through its client, and to the handler of the worker.
  const write = (line: string) => void metrics.push(told.parse(JSON.parse(line)));
  const handler = canaryHandler(
    emfMetrics({ namespace: "Carillon", source: "worker", now: world.clock.now, write }),
  );
  const none = () => Promise.reject(new Error("No canary uses this target."));
  const { clock, log, queue } = world;
  world.more.worker.deliver = deliverTo({
    queue: queueTarget({ sqs, clock, ownUrls: [] }),
    handler: handlerTarget({
      handlers: [handler],
      clock,
      log,
      sql: worker,
      transactions: worker,
      queue,
      notify: notifyByDefault,
    }),
    event: none,
    webhook: none,
    lambda: none,
  });
});

afterEach(async () => {
  sqs.destroy();
  await world.stop();
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const connectAs = (url: string) => connect({ DATABASE_URL: url }, { max: 2 });

/** One tick a minute, as the rule starts it. */
async function pass(count: number, { working = true } = {}): Promise<void> {
  for (let passed = 0; passed < count; passed++) {
    await world.tick({ canary });
    if (working) await world.work();
    await world.clock.advance(minute);
    if (working) await world.work();
  }
}

/** The keys of the schedules whose messages have reached the queue. */
async function received(): Promise<unknown[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: canary.queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
  );
  return Messages.map(({ Body = "" }) => JSON.parse(Body).schedulekey);
}

const versions = () =>
  world.sql`select key, version, deleted_at from carillon.schedules where key = any(${keys}) order by id`;

describe("the canaries", () => {
  test("the canaries run every few minutes: one arrives in its queue, and one writes a metric", async () => {
    await pass(2 * minutes);
    expect(await received()).toEqual([canaryKeys.fast, canaryKeys.fast]);
    expect(metrics).toEqual([
      { CanaryMs: 0, function: "worker", queue: "slow" },
      { CanaryMs: 0, function: "worker", queue: "slow" },
    ]);
    expect(await versions()).toMatchObject([{ version: 1 }, { version: 1 }]);
  });

  test("without workers no canary arrives, and canaries that are too late do not count", async () => {
    await pass(3 * minutes, { working: false });
    expect(await received()).toEqual([]);
    expect(metrics).toEqual([]);
    await world.clock.advance(second);
    await world.work();
    // Only the last of three due canaries is in time.
    expect(await received()).toEqual([canaryKeys.fast]);
    expect(metrics).toHaveLength(1);
    const states = (await world.jobs(canaryKeys.slow)).map(({ state, reason }) => reason ?? state);
    expect(states.slice(0, 3)).toEqual(["late", "late", "succeeded"]);
  });

  test("the next tick restores canaries that were deleted or changed, and keeps a pause", async () => {
    await pass(1);
    await world.remove(canaryKeys.fast);
    await world.patch(canaryKeys.slow, { when: "every 1d" });
    await pass(minutes + 1);
    expect(await received()).toEqual([canaryKeys.fast]);
    expect(metrics).toHaveLength(1);
    await world.pause(canaryKeys.slow);
    await pass(minutes + 1);
    expect(await received()).toHaveLength(1);
    expect(metrics).toHaveLength(1);
  });

  test("canaries follow the settings, and are deleted without them", async () => {
    await pass(1);
    canary = { ...canary, minutes: 1 };
    await pass(3);
    expect(metrics.length).toBeGreaterThanOrEqual(2);
    await world.tick({ canary: null });
    const stand = (await versions()).filter(({ deleted_at }) => deleted_at === null);
    expect(stand).toEqual([]);
  });

  test("a canary does not overwrite a caller's schedule with its key: the tick reports it and makes the other canary", async () => {
    await world.put(canaryKeys.fast, { when: "every 1d", target: { queue: "demo" } });
    await expect(world.tick({ canary })).rejects.toThrow(/carillon:canary:fast .* made by ann/);
    expect(await versions()).toMatchObject([
      { key: canaryKeys.fast, version: 1 },
      { key: canaryKeys.slow, version: 1 },
    ]);
  });
});

test("without a queue there are no canaries, and the setting of their minutes is checked", () => {
  expect(canaryFrom({ CANARY_MINUTES: "3" })).toBeNull();
  expect(canaryFrom({ CANARY_QUEUE_URL: "q", CANARY_MINUTES: "3" })).toEqual({ queue: "q", minutes: 3 });
  expect(() => canaryFrom({ CANARY_QUEUE_URL: "q", CANARY_MINUTES: "0" })).toThrow(/from 1 to 60/);
});
