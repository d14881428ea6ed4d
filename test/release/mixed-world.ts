import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import {
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { z } from "zod";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import { listenOnLoopback } from "../../lib/tools/local/http-server.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";
import { startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import { functionsKeyId, localQueueArn, localRegion } from "../../lib/tools/local/local-account.ts";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { testDatabase } from "../support/database.ts";
import { monday } from "../support/instants.ts";
import {
  type FunctionName,
  functionNames,
  type HostedRelease,
  type HostSettings,
  hostRelease,
} from "./hosted-release.ts";
import { repository } from "./previous-code.ts";

export type Release = "previous" | "present";

export const queueNames = {
  fast: "carillon-fast",
  slow: "carillon-slow",
  ingest: "carillon-ingest",
  dead: "carillon-ingest-dead",
  arrivals: "arrivals",
} as const;
type QueueName = keyof typeof queueNames;

/** One deployment whose functions are of two releases, with a real database and real queues. */
export interface MixedWorld {
  sql: Sql;
  clock: DatabaseClock;
  /** The release of each function now. A test replaces them one by one. */
  releases: Record<FunctionName, Release>;
  /** The way of each message that was taken, such as `webhook: previous to present`. */
  ways: Set<string>;
  invoke(name: FunctionName, event: unknown): Promise<unknown>;
  /** Notes that the function has made messages of the channel. */
  made(channel: string, by: FunctionName): void;
  /** Notes that the function has taken the messages of the channel that were made last. */
  taken(channel: string, by: FunctionName): void;
  send(queue: QueueName, body: object): Promise<void>;
  /** Works on all messages of a queue as Lambda does, and keeps those that the function hands back. */
  work(queue: QueueName, name: FunctionName): Promise<void>;
  /** Takes all messages from the queue of deliveries. */
  arrived(): Promise<Arrived[]>;
  /** The requests that the receiver of webhooks got. */
  hooks: Hook[];
  hookUrl: string;
  /** The answers of stacks' resources. */
  stackAnswers: unknown[];
  answerUrl: string;
  /** The cursor and the answer that an API of the round before has given; null at first. */
  kept: { cursor: string; answer: string } | null;
  /** Whether the bus takes events. */
  isBusOpen: boolean;
  /** The details of the events that the bus took. */
  events: unknown[];
  stop(): Promise<void>;
}

export interface Hook {
  headers: Readonly<Record<string, unknown>>;
  body: Arrived;
}

const envelope = z.looseObject({ id: z.string(), schedulekey: z.string() });
export type Arrived = z.infer<typeof envelope>;

const batchAnswer = z.strictObject({
  batchItemFailures: z.array(z.strictObject({ itemIdentifier: z.string() })),
});
const putEvents = z.looseObject({ Entries: z.array(z.looseObject({ Detail: z.string() })) });

/** The secret of the vault whose key the tests' databases have. */
const secret = "the tests";
const senderName = "carillon-webhook";
const apiName = "carillon-api";
const remainingMs = 60_000;
export const token = "admin-token";

/** `previous` is the folder of the previous release's code. All functions are of that release at first. */
export async function mixedWorld(previous: string): Promise<MixedWorld> {
  const database = await testDatabase("still");
  const sql = connect({ DATABASE_URL: database.url }, { max: 2 });
  const clock = await databaseClock(sql, monday);
  await insertToken(sql);
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-mixed-"));
  const queues = await startQueues({
    dataDir,
    port: 0,
    queues: Object.values(queueNames).map((name) => ({ name, attributes: { VisibilityTimeout: "60" } })),
  });
  const credentials = { accessKeyId: functionsKeyId, secretAccessKey: functionsKeyId };
  const sqs = new SQSClient({ endpoint: queues.url, region: localRegion, credentials });
  const urlOf = (queue: QueueName) => queues.queueUrl(queueNames[queue]);
  const outside = await startOutside((): MixedWorld => world);
  const lambda = await startLambda({
    port: 0,
    functions: new Map([
      [senderName, (event: unknown) => toSender(world, event)],
      [apiName, (event: unknown) => toApi(world, event)],
    ]),
    elsewhere: undefined,
    log: silentLog,
  });
  const settings = settingsOf({
    DATABASE_URL: database.url,
    FAST_QUEUE_URL: urlOf("fast"),
    SLOW_QUEUE_URL: urlOf("slow"),
    INGEST_QUEUE_URL: urlOf("ingest"),
    INGEST_DEAD_QUEUE_URL: urlOf("dead"),
    AWS_REGION: localRegion,
    AWS_ACCESS_KEY_ID: functionsKeyId,
    AWS_SECRET_ACCESS_KEY: functionsKeyId,
    AWS_ENDPOINT_URL_SQS: queues.url,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    AWS_ENDPOINT_URL_EVENTBRIDGE: outside.url,
    CARILLON_WEBHOOK_ALLOW: new URL(outside.url).host,
  });
  const hosts: Readonly<Record<Release, HostedRelease>> = {
    previous: hostRelease(previous, settings),
    present: hostRelease(repository, settings),
  };
  const makers = new Map<string, Release>();
  const receive = async (queue: QueueName) => {
    const command = new ReceiveMessageCommand({
      QueueUrl: urlOf(queue),
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ["All"],
    });
    return (await sqs.send(command)).Messages ?? [];
  };
  const remove = async (queue: QueueName, handle: string | undefined) => {
    await sqs.send(new DeleteMessageCommand({ QueueUrl: urlOf(queue), ReceiptHandle: handle }));
  };
  const world: MixedWorld = {
    sql,
    clock,
    releases: allOf("previous"),
    ways: new Set(),
    invoke: (name, event) => hosts[world.releases[name]].invoke(name, event),
    made: (channel, by) => void makers.set(channel, world.releases[by]),
    taken: (channel, by) =>
      void world.ways.add(`${channel}: ${makers.get(channel)} to ${world.releases[by]}`),
    send: async (queue, body) => {
      await sqs.send(new SendMessageCommand({ QueueUrl: urlOf(queue), MessageBody: JSON.stringify(body) }));
    },
    work: async (queue, name) => {
      for (let batch = await receive(queue); batch.length > 0; batch = await receive(queue)) {
        const answer = await world.invoke(name, sqsEvent(batch, localQueueArn(queueNames[queue])));
        const { batchItemFailures } = batchAnswer.parse(answer);
        const stay = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
        for (const { MessageId = "", ReceiptHandle } of batch)
          if (!stay.has(MessageId)) await remove(queue, ReceiptHandle);
      }
    },
    arrived: async () => {
      const all: Arrived[] = [];
      for (let batch = await receive("arrivals"); batch.length > 0; batch = await receive("arrivals"))
        for (const { Body = "", ReceiptHandle } of batch) {
          all.push(envelope.parse(JSON.parse(Body)));
          await remove("arrivals", ReceiptHandle);
        }
      return all;
    },
    hooks: [],
    hookUrl: `${outside.url}/hook`,
    stackAnswers: [],
    answerUrl: `${outside.url}/answer`,
    kept: null,
    isBusOpen: true,
    events: [],
    stop: async () => {
      await Promise.all(Object.values(hosts).map((each) => each.stop()));
      await lambda.close(1_000);
      await outside.close(1_000);
      sqs.destroy();
      await queues.stop();
      await sql.end();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return world;
}

export function allOf(release: Release): Record<FunctionName, Release> {
  return Object.assign(Object.create(null), Object.fromEntries(functionNames.map((name) => [name, release])));
}

async function toSender(world: MixedWorld, event: unknown): Promise<unknown> {
  const isAsked = typeof event === "object" && event !== null && "ask" in event;
  const [channel, maker]: [string, FunctionName] = isAsked ? ["vault", "api"] : ["webhook", "slow"];
  world.made(channel, maker);
  const answer = await world.invoke("webhook", event);
  world.taken(channel, "webhook");
  return answer;
}

async function toApi(world: MixedWorld, event: unknown): Promise<unknown> {
  world.made("stack", "stack");
  const answer = await world.invoke("api", event);
  world.taken("stack", "api");
  return answer;
}

/** The bus, the receiver of webhooks and the address for answers of stacks' resources. */
function startOutside(world: () => MixedWorld) {
  return listenOnLoopback(0, (request, response) => {
    const answer = async () => {
      const body: unknown = JSON.parse(await text(request));
      const { isBusOpen, events, hooks, stackAnswers } = world();
      if (request.url === "/hook") hooks.push({ headers: request.headers, body: envelope.parse(body) });
      else if (request.url === "/answer") stackAnswers.push(body);
      else {
        const { Entries } = putEvents.parse(body);
        if (isBusOpen) events.push(...Entries.map(({ Detail }): unknown => JSON.parse(Detail)));
        const entry = isBusOpen ? { EventId: "1" } : { ErrorCode: "ThrottlingException" };
        return JSON.stringify({ FailedEntryCount: 0, Entries: Entries.map(() => entry) });
      }
      return "";
    };
    void answer().then(
      (said) => response.writeHead(200, { "content-type": "application/x-amz-json-1.1" }).end(said),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
}

function settingsOf(common: Readonly<Record<string, string>>): HostSettings {
  const env = { ...common, CARILLON_LOG: "silent" };
  const withSender = { ...env, WEBHOOK_FUNCTION: senderName };
  return {
    environments: {
      api: { file: "functions/api.ts", env: { ...withSender, STACK_CALLERS: "true" } },
      tick: { file: "functions/tick.ts", env },
      fast: { file: "functions/worker.ts", env: { ...env, LIFECYCLE_EVENTS: "succeeded" } },
      slow: { file: "functions/worker.ts", env: { ...withSender, TARGET_WINDOW: "10" } },
      ingest: { file: "functions/ingest.ts", env },
      webhook: { file: "functions/webhook.ts", env },
      stack: { file: "functions/stack.ts", env: { ...env, API_FUNCTION: apiName } },
    },
    secret,
    remainingMs,
  };
}

async function insertToken(sql: Sql): Promise<void> {
  const hash = createHash("sha256").update(token).digest();
  await sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'admin', 'admin', carillon.clock(), 'test')`;
}
