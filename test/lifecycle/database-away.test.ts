import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  QueueAttributeName,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { receivesMax } from "../../lib/config/function-limits.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { done } from "../../lib/target/delivery.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";
import { localQueueArn } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, second } from "../support/instants.ts";

/** As deployed, except that a received message becomes visible again at once. */
const classes = ["fast", "slow"] as const;
const queues = classes.map((name) => ({
  name: `carillon-${name}`,
  attributes: { VisibilityTimeout: "0" },
  deadLetters: { name: `carillon-${name}-dead`, maxReceiveCount: receivesMax },
}));

let dataDir: string;
let emulator: QueueEmulator;
let sqs: SQSClient;
let world: Carillon;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-away-"));
  emulator = await startQueues({ dataDir, port: 0, queues });
  const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
  sqs = new SQSClient({ endpoint: emulator.url, region: "us-east-1", credentials });
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
  sqs.destroy();
  await emulator.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function parcelQueue() {
  const urls = { fast: emulator.queueUrl("carillon-fast"), slow: emulator.queueUrl("carillon-slow") };
  return { sqs, urls, log: world.log, timing: world.queue.timing };
}

async function receive(name: string): Promise<Message[]> {
  const QueueUrl = emulator.queueUrl(name);
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0 }),
  );
  return Messages;
}

/**
 * One invocation of the real worker for the messages on the queue, with this connection to the
 * database. Returns the number of messages that stay.
 */
async function invoke(sql: Sql, name: string): Promise<{ received: number; kept: number }> {
  const messages = await receive(name);
  const deps = {
    sql,
    queue: parcelQueue(),
    clock: world.clock,
    log: world.log,
    random: () => 1,
    notify: notifyByDefault,
    window: null,
    deliver: async (jobs: readonly unknown[]) => jobs.map(() => done),
  };
  const { Records } = sqsEvent(messages, localQueueArn(name));
  const { batchItemFailures } = await workMessages(deps, Records, () => 60_000);
  const kept = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  for (const { MessageId = "", ReceiptHandle } of messages.filter(({ MessageId: id = "" }) => !kept.has(id)))
    if (MessageId !== "")
      await sqs.send(new DeleteMessageCommand({ QueueUrl: emulator.queueUrl(name), ReceiptHandle }));
  return { received: messages.length, kept: kept.size };
}

async function waiting(name: string): Promise<number> {
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({
      QueueUrl: emulator.queueUrl(name),
      AttributeNames: [QueueAttributeName.ApproximateNumberOfMessages],
    }),
  );
  return Number(Attributes?.[QueueAttributeName.ApproximateNumberOfMessages]);
}

const tickNow = () =>
  tick({ sql: world.sql, queue: parcelQueue(), log: world.log }, tickDefaults, () => false);

test("a database that is away for an hour kills no job, though every message becomes a dead letter", async () => {
  const retry = { attempts: 1 };
  for (let i = 0; i < 12; i++) {
    await world.put(`fast-${i}`, { when: "in 1s", retry });
    await world.put(`slow-${i}`, { when: "in 1s", retry, target: { handler: "greet" } });
  }
  await tickNow();
  await world.clock.advance(2 * second);
  const sent = { fast: await waiting("carillon-fast"), slow: await waiting("carillon-slow") };
  expect(sent.fast).toBeGreaterThan(0);
  expect(sent.slow).toBeGreaterThan(1);

  // No server listens on port 1. A free port might be given to another process meanwhile.
  const away = connect({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }, { max: 2 });
  for (const name of classes) {
    for (let receives = 1; receives <= receivesMax; receives++) {
      const { received, kept } = await invoke(away, `carillon-${name}`);
      expect(received).toBe(sent[name]);
      expect(kept).toBe(sent[name]);
    }
    expect(await receive(`carillon-${name}`)).toEqual([]);
    expect(await waiting(`carillon-${name}-dead`)).toBe(sent[name]);
  }
  await away.end();

  await world.clock.advance(hour);
  await tickNow();
  for (const name of classes) expect(await invoke(world.sql, `carillon-${name}`)).toMatchObject({ kept: 0 });
  const jobs = await world.jobs();
  expect(jobs).toHaveLength(24);
  expect(new Set(jobs.map(({ state, attempt }) => `${state} at attempt ${attempt}`))).toEqual(
    new Set(["succeeded at attempt 1"]),
  );

  // Moving the dead letters back to their queue does no harm: their parcels are gone.
  for (const name of classes) {
    const { Records } = sqsEvent(await receive(`carillon-${name}-dead`), localQueueArn(`carillon-${name}`));
    expect(Records).toHaveLength(sent[name]);
    const deliver = () => Promise.reject(new Error("There was a job to deliver."));
    const deps = {
      sql: world.sql,
      queue: parcelQueue(),
      clock: world.clock,
      log: world.log,
      random: () => 1,
      notify: notifyByDefault,
      window: null,
      deliver,
    };
    expect(await workMessages(deps, Records, () => 60_000)).toEqual({ batchItemFailures: [] });
  }
});
