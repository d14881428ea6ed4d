import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { assemble } from "../../functions/ingest.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";
import { localQueueArn, localRegion } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { ingestWorld } from "../ingest/ingest-world.ts";
import { connectThrough, valuesOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;
let queues: QueueEmulator;
let sqs: SQSClient;
let ingest: ReturnType<typeof assemble>;
let dataDir: string;

const names = {
  fast: "carillon-fast",
  slow: "carillon-slow",
  ingest: "carillon-ingest",
  dead: "carillon-ingest-dead",
};
const receivesMax = 3;

beforeAll(async () => {
  world = await carillon();
  dataDir = await mkdtemp(path.join(tmpdir(), "carillon-poison-"));
  queues = await startQueues({
    dataDir,
    port: 0,
    queues: [
      ...[names.fast, names.slow].map((name) => ({ name, attributes: {} })),
      {
        name: names.ingest,
        // A message that is not done can be received again at once.
        attributes: { VisibilityTimeout: "0" },
        deadLetters: { name: names.dead, maxReceiveCount: receivesMax },
      },
    ],
  });
  const credentials = { accessKeyId: "carillon", secretAccessKey: "carillon" };
  sqs = new SQSClient({ region: localRegion, endpoint: queues.url, credentials });
  const role = `ingest_${randomBytes(4).toString("hex")}`;
  await world.sql.unsafe(`create role ${role} login password 'test' in role carillon_ingest`);
  const url = new URL(world.databaseUrl);
  url.username = role;
  url.password = "test";
  ingest = assemble({
    DATABASE_URL: url.href,
    AWS_REGION: localRegion,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_ENDPOINT_URL_SQS: queues.url,
    FAST_QUEUE_URL: queues.queueUrl(names.fast),
    SLOW_QUEUE_URL: queues.queueUrl(names.slow),
    INGEST_QUEUE_URL: queues.queueUrl(names.ingest),
    INGEST_DEAD_QUEUE_URL: queues.queueUrl(names.dead),
    CARILLON_LOG: "silent",
  });
});

afterAll(async () => {
  await ingest.close();
  sqs.destroy();
  await queues.stop();
  await world.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function received(name: string): Promise<Message[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queues.queueUrl(name),
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ["All"],
    }),
  );
  return Messages;
}

/**
 * Like Lambda, deletes each message that the function does not return as failed. Returns the number
 * of failed ones.
 */
async function invoke(): Promise<number> {
  const messages = await received(names.ingest);
  if (messages.length === 0) return 0;
  const { batchItemFailures } = await ingest.handler(sqsEvent(messages, localQueueArn(names.ingest)), {
    awsRequestId: "poison",
    getRemainingTimeInMillis: () => 60_000,
  });
  const stay = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  const done = messages.filter(({ MessageId = "" }) => !stay.has(MessageId));
  if (done.length > 0)
    await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: queues.queueUrl(names.ingest),
        Entries: done.map(({ MessageId: Id, ReceiptHandle }) => ({ Id, ReceiptHandle })),
      }),
    );
  return stay.size;
}

const standing = async (name: string) => {
  const rows = await world.sql<{ key: string }[]>`
    select key from carillon.schedules where key like ${`${name}-%`} and deleted_at is null order by key`;
  return rows.map(({ key }) => key);
};
const keysOf = (name: string, numbers: readonly number[]) => numbers.map((n) => `${name}-${n}`);

test.each([
  ["raises", "raise exception 'no'"],
  ["reports an internal error", "raise exception 'no' using errcode = 'XX000'"],
  ["hangs at a lock", "perform pg_advisory_xact_lock(77, 77)"],
])(
  "A command on which a trigger %s does not stop other messages, and only its message becomes a dead letter",
  async (name, how) => {
    const prefix = name.replaceAll(" ", "-");
    await world.sql.unsafe(`
      create or replace function carillon.break_keys() returns trigger language plpgsql as $$ begin ${how}; return new; end $$;
      create or replace trigger break_keys before insert on carillon.schedules for each row when (new.key = '${prefix}-6')
        execute function carillon.break_keys()`);
    await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: queues.queueUrl(names.ingest),
        Entries: Array.from({ length: 10 }, (_, n) => ({
          Id: String(n),
          MessageBody: JSON.stringify({
            put: { key: `${prefix}-${n}`, when: "every 1h", target: { queue: "demo" } },
          }),
        })),
      }),
    );
    await world.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(77, 77)`;
      expect(await invoke()).toBe(1);
      expect(await standing(prefix)).toEqual(keysOf(prefix, [0, 1, 2, 3, 4, 5, 7, 8, 9]));
      for (let receives = 1; receives < receivesMax; receives++) expect(await invoke()).toBe(1);
      expect(await invoke()).toBe(0);
    });
    const [letter, ...others] = await received(names.dead);
    expect(others).toEqual([]);
    expect(letter?.Body).toContain(`${prefix}-6`);
    await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: queues.queueUrl(names.dead),
        Entries: [{ Id: "0", ReceiptHandle: letter?.ReceiptHandle }],
      }),
    );
  },
);

test("A command that fails inside Carillon when it is read stops no other, not even in its own message", async () => {
  const other = await ingestWorld();
  try {
    const { acceptance } = other.deps;
    other.deps.acceptance = {
      ...acceptance,
      body: (body, key) => {
        if (body.description === "poison") throw new TypeError("Carillon has a mistake.");
        acceptance.body(body, key);
      },
    };
    const put = (key: string, description = "good") => ({
      put: { key, description, when: "every 1h", target: { queue: "demo" } },
    });
    const stay = await other.ingest([
      { id: "first", body: put("read-1") },
      { id: "bad", body: [put("read-2"), put("read-3", "poison"), put("read-4")] },
      { id: "last", body: put("read-5") },
    ]);
    expect(stay).toEqual(["bad"]);
    const rows = await other.carillon.sql`select key from carillon.schedules order by key`;
    expect(rows.map(({ key }) => key)).toEqual(keysOf("read", [1, 2, 4, 5]));
    expect(JSON.stringify(other.carillon.log.lines)).not.toContain("every 1h");
  } finally {
    await other.stop();
  }
});

test.each([
  ["ERR_INVALID_ARG_TYPE", ["odd"]],
  ["ECONNRESET", ["first", "last", "odd"]],
])("A command that ends in %s leaves the messages %j in the queue", async (code, left) => {
  const other = await ingestWorld();
  const failing = connectThrough(other.carillon.databaseUrl, (line) => ({
    ...line,
    run: (statement) =>
      JSON.stringify(valuesOf(statement)).includes('"odd"')
        ? statement.reject(Object.assign(new Error("no"), { code }))
        : line.run(statement),
  }));
  other.deps.sql = failing;
  try {
    const messages = ["first", "odd", "last"].map((key) => ({
      id: key,
      body: { put: { key, when: "every 1h", target: { queue: "demo" } } },
    }));
    expect((await other.ingest(messages)).toSorted()).toEqual(left);
  } finally {
    await failing.end();
    await other.stop();
  }
});
