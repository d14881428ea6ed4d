import { findPackageJSON } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { FastifyInstance } from "./fastify-shape.ts";

/**
 * fauxqs has one entry point, `startFauxqs`, which listens on every interface of the machine, and
 * serves SNS and S3 too. Its internal parts are enough to run its SQS alone on the loopback
 * interface; these are the shapes of the parts in use. The version is pinned.
 */
export interface EmulatorParts {
  buildApp(options: {
    logger: false;
    defaultRegion: string;
    stores: { sqsStore: QueueStore };
  }): FastifyInstance;
  QueueStore: new () => QueueStore;
  TopicStore: new () => object;
  Persistence: new (dataDir: string) => Persistence;
}

export interface QueueStore {
  host: string;
  region: string;
  persistence?: Persistence;
  allQueues(): Iterable<StoredQueue>;
  getQueue(url: string): StoredQueue | undefined;
  getQueueByArn(arn: string): StoredQueue | undefined;
  createQueue(name: string, url: string, arn: string, attributes: Record<string, string>): StoredQueue;
}

export interface StoredQueue {
  name: string;
  url: string;
  arn: string;
  persistence?: Persistence;
  /** Visible messages, the next one first. */
  readonly messages: StoredMessage[];
  readonly delayedMessages: readonly StoredMessage[];
  /** By receipt handle. */
  readonly inflightMessages: ReadonlyMap<string, { message: StoredMessage }>;
  setAttributes(attributes: Record<string, string>): void;
  /** Moves messages to the visible ones whose delay or visibility timeout is over. */
  processTimers(): void;
  enqueue(message: StoredMessage): void;
  dequeue(most: number, ...rest: readonly unknown[]): { ReceiptHandle: string }[];
  deleteMessage(receiptHandle: string): boolean;
  changeVisibility(receiptHandle: string, seconds: number): void;
}

export interface StoredMessage {
  readonly messageId: string;
  messageGroupId: string | undefined;
  readonly messageAttributes: object;
}

export interface Persistence {
  readonly db: { exec(statement: string): void; prepare(statement: string): { run(value: string): unknown } };
  updateMessageReady(messageId: string): void;
  loadSqsAndSns(queues: QueueStore, topics: object): void;
  close(): void;
}

export async function emulatorParts(): Promise<EmulatorParts> {
  const manifest = findPackageJSON("fauxqs", import.meta.url);
  if (manifest === undefined) throw new Error("The package fauxqs is not installed.");
  const dist = path.join(path.dirname(manifest), "dist");
  const part = async (file: string, name: string) => {
    const module = await import(/* @vite-ignore */ pathToFileURL(path.join(dist, file)).href);
    if (typeof module[name] !== "function")
      throw new Error(`fauxqs has no ${name} in ${file}: its version has changed from the pinned one.`);
    return module[name];
  };
  return {
    buildApp: await part("app.js", "buildApp"),
    QueueStore: await part("sqs/sqsStore.js", "SqsStore"),
    TopicStore: await part("sns/snsStore.js", "SnsStore"),
    Persistence: await part("persistence.js", "PersistenceManager"),
  };
}
