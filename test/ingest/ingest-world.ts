import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { ingestMessages, type QueueDeps } from "../../lib/ingest/ingest.ts";
import { localRegion } from "../../lib/tools/local/local-account.ts";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { connectAsMember } from "../support/role-logins.ts";

export interface MessageSpec {
  id?: string;
  /** Sent as JSON unless it is a text. */
  body: unknown;
  sentAt?: Date;
  receives?: number;
}

export interface DeadLetterRead {
  body: string;
  attributes: Record<string, string | undefined>;
}

/**
 * A Carillon with a queue of commands: the test makes the function's events, the dead-letter queue
 * is real.
 */
export interface IngestWorld {
  carillon: Carillon;
  /** A connection with the function's role. */
  sql: Sql;
  deps: QueueDeps;
  record(message: MessageSpec): SQSRecord;
  /** Returns the ids of messages that stay on the queue. */
  ingest(messages: readonly MessageSpec[], timeIsUp?: () => boolean): Promise<string[]>;
  /** Sends one message with one command. */
  command(command: object): Promise<string[]>;
  deadLetters(count: number): Promise<DeadLetterRead[]>;
  stop(): Promise<void>;
}

export async function ingestWorld(): Promise<IngestWorld> {
  const world = await carillon();
  const sql = await connectAsMember(world.sql, world.databaseUrl, "carillon_ingest", 4);
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-ingest-"));
  const attributes = { VisibilityTimeout: "60" };
  const names = ["carillon-fast", "carillon-slow", "carillon-ingest", "carillon-ingest-dead"];
  const queues = await startQueues({
    dataDir,
    port: 0,
    queues: names.map((name) => ({ name, attributes })),
  });
  const credentials = { accessKeyId: "carillon", secretAccessKey: "carillon" };
  const sqs = new SQSClient({ region: localRegion, endpoint: queues.url, credentials });
  const deadUrl = queues.queueUrl("carillon-ingest-dead");
  const urls = { fast: queues.queueUrl("carillon-fast"), slow: queues.queueUrl("carillon-slow") };
  const deps: QueueDeps = {
    sql,
    log: world.log,
    queue: { sqs, urls, log: world.log, timing: world.queue.timing },
    acceptance: acceptanceOf({ handlers: [], targets: allowedTargetsFrom({ AWS_REGION: localRegion }) }),
    prefix: null,
    queues: { url: queues.queueUrl("carillon-ingest"), deadUrl },
  };
  let sent = 0;
  const own: IngestWorld = {
    carillon: world,
    sql,
    deps,
    record: ({ id, body, sentAt = world.clock.now(), receives = 1 }) => {
      sent += 1;
      return {
        messageId: id ?? `message-${sent}`,
        receiptHandle: `handle-${sent}`,
        body: typeof body === "string" ? body : JSON.stringify(body),
        attributes: {
          ApproximateReceiveCount: String(receives),
          SentTimestamp: String(sentAt.getTime()),
          SenderId: "test",
          ApproximateFirstReceiveTimestamp: String(sentAt.getTime()),
        },
        messageAttributes: {},
        md5OfBody: "",
        eventSource: "aws:sqs",
        eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:carillon-ingest",
        awsRegion: localRegion,
      };
    },
    ingest: (messages, timeIsUp = () => false) =>
      ingestMessages(own.deps, messages.map(own.record), timeIsUp),
    command: (body) => own.ingest([{ body }]),
    deadLetters: async (count) => {
      const found: DeadLetterRead[] = [];
      for (let empty = 0; found.length < count && empty < 3; ) {
        const { Messages = [] } = await sqs.send(
          new ReceiveMessageCommand({
            QueueUrl: deadUrl,
            MaxNumberOfMessages: 10,
            WaitTimeSeconds: 1,
            MessageAttributeNames: ["All"],
          }),
        );
        if (Messages.length === 0) empty += 1;
        for (const { Body = "", MessageAttributes = {} } of Messages) {
          const attributes = Object.entries(MessageAttributes).map(([name, { StringValue }]) => [
            name,
            StringValue,
          ]);
          found.push({ body: Body, attributes: Object.fromEntries(attributes) });
        }
      }
      return found;
    },
    stop: async () => {
      sqs.destroy();
      await queues.stop();
      await sql.end();
      await world.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return own;
}
