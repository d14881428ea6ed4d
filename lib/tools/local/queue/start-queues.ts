import { mkdirSync } from "node:fs";
import { guarded } from "../callers.ts";
import { listenOnLoopback } from "../http-server.ts";
import { localAccount, localQueueArn, localRegion } from "../local-account.ts";
import { type EmulatorParts, emulatorParts, type Persistence, type QueueStore } from "./emulator-parts.ts";
import { fairQueues } from "./fair-queues.ts";
import { onlySqs } from "./only-sqs.ts";
import { mendDifferences } from "./sqs-differences.ts";
import { traceHeaders } from "./trace-headers.ts";

export interface QueueEmulator {
  url: string;
  port: number;
  queueUrl(name: string): string;
  stop(): Promise<void>;
}

export interface QueueOptions {
  /**
   * The folder of queues and messages; a message survives `kill -9` once its sender has a response.
   */
  dataDir: string;
  /** 0 picks a free port. */
  port: number;
  /** Names of this machine besides those of the loopback interface. */
  hosts?: readonly string[];
  queues: readonly QueueSpec[];
}

export interface QueueSpec {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** The dead-letter queue for messages that were received this often without being deleted. */
  deadLetters?: { name: string; maxReceiveCount: number };
}

const graceMs = 1_000;

/** An SQS endpoint on the loopback interface for any SQS client, with the given queues. */
export async function startQueues(options: QueueOptions): Promise<QueueEmulator> {
  const parts = await emulatorParts();
  mkdirSync(options.dataDir, { recursive: true });
  const persistence = openPersistence(parts, options.dataDir);
  const store = new parts.QueueStore();
  store.host = "";
  persistence.loadSqsAndSns(store, new parts.TopicStore());
  keepIn(store, persistence);

  const app = parts.buildApp({ logger: false, defaultRegion: localRegion, stores: { sqsStore: store } });
  const queueUrl = (name: string) => queueUrlAt(server.url, name);
  const ensureQueue = (name: string, attributes: Readonly<Record<string, string>> = {}) => {
    const existing = store.getQueueByArn(localQueueArn(name));
    if (existing !== undefined) return existing;
    const fifo = name.endsWith(".fifo") ? { FifoQueue: "true", ContentBasedDeduplication: "true" } : {};
    return store.createQueue(name, queueUrl(name), localQueueArn(name), { ...fifo, ...attributes });
  };
  mendDifferences(app, store, (name) => ensureQueue(name));
  fairQueues(app, store);
  traceHeaders(app, store);
  await app.ready();
  const callers = { hosts: options.hosts ?? [], origins: null };
  const server = await listenOnLoopback(options.port, guarded(callers, onlySqs(app.routing))).catch(
    (error) => {
      persistence.close();
      throw error;
    },
  );
  for (const queue of store.allQueues()) queue.url = queueUrl(queue.name);
  for (const spec of options.queues) {
    if (spec.deadLetters !== undefined)
      ensureQueue(spec.deadLetters.name, { MessageRetentionPeriod: "1209600" });
    ensureQueue(spec.name).setAttributes(attributesOf(spec));
  }
  giveBack(store, options.queues);
  return {
    url: server.url,
    port: server.port,
    queueUrl,
    stop: async () => {
      // Ends long polls.
      await app.close();
      await server.close(graceMs);
      persistence.close();
    },
  };
}

export function queueUrlAt(baseUrl: string, name: string): string {
  return `${baseUrl}/${localAccount}/${name}`;
}

function openPersistence(parts: EmulatorParts, dataDir: string): Persistence {
  const persistence = new parts.Persistence(dataDir);
  // Data that was written to the operating system survives kill -9 of a process; waiting for the
  // disk would cost a sync per message.
  persistence.db.exec("pragma synchronous = normal");
  // fauxqs 2.4.1 writes a null receive count here and fails on its own constraint, so that no
  // message could be made visible again.
  const handBack = persistence.db.prepare(
    "update sqs_messages set receipt_handle = null, visibility_deadline = null where message_id = ?",
  );
  persistence.updateMessageReady = (messageId) => {
    handBack.run(messageId);
  };
  return persistence;
}

/** Starts with later changes: loading must not write back the rows it reads. */
function keepIn(store: QueueStore, persistence: Persistence): void {
  store.persistence = persistence;
  for (const queue of store.allQueues()) queue.persistence = persistence;
}

function attributesOf({ attributes, deadLetters }: QueueSpec): Record<string, string> {
  if (deadLetters === undefined) return { ...attributes };
  const { name, maxReceiveCount } = deadLetters;
  const redrive = JSON.stringify({ deadLetterTargetArn: localQueueArn(name), maxReceiveCount });
  return { ...attributes, RedrivePolicy: redrive };
}

/**
 * Messages of these queues were received by a process that has ended and cannot delete them, so
 * they become visible at once.
 */
function giveBack(store: QueueStore, specs: readonly QueueSpec[]): void {
  for (const spec of specs) {
    const queue = store.getQueueByArn(localQueueArn(spec.name));
    for (const handle of [...(queue?.inflightMessages.keys() ?? [])]) queue?.changeVisibility(handle, 0);
  }
}
