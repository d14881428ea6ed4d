import { parentPort, workerData } from "node:worker_threads";
import { DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import * as z from "zod";
import { systemClock } from "../../../lib/clock.ts";
import { awsClientSettings } from "../../../lib/config/aws.ts";
import { connect } from "../../../lib/db/connect.ts";
import { silentLog } from "../../../lib/log/log.ts";
import type { PulsePlace } from "../../../lib/parcel/claim.ts";
import { parcelQueueFrom } from "../../../lib/parcel/parcel-queue-from.ts";
import { notifyByDefault } from "../../../lib/parcel/settle.ts";
import { pulseTargets } from "../../../lib/pulse/pulse-targets.ts";
import { readPulses } from "../../../lib/pulse/read-pulses.ts";
import { messageSender } from "../../../lib/target/send-messages.ts";
import { pulseSender } from "../../../lib/target/send-pulses.ts";
import { sqsEvent } from "../../../lib/tools/local/lambda/sqs-event.ts";
import { workMessages } from "../../../lib/worker/worker.ts";

/** A thread's task; the thread reports its result at the end. */
export const task = z.discriminatedUnion("does", [
  /** Reads the pulses of these seconds of these shards, and sends nothing. */
  z.object({ does: z.literal("read"), seconds: z.array(z.tuple([z.number(), z.number()])) }),
  /** Works messages of the fast queue until none came for a second. */
  z.object({ does: z.literal("work") }),
  /** Sends messages of this size to a queue, and nothing else. */
  z.object({ does: z.literal("send"), queue: z.string(), bytes: z.number(), messages: z.number() }),
]);
export type Task = z.infer<typeof task>;

const given = z.object({ env: z.record(z.string(), z.string()), task }).parse(workerData);
const queue = parcelQueueFrom(given.env, silentLog);
const sqs = new SQSClient({ ...awsClientSettings(given.env, "SQS"), useQueueUrlAsEndpoint: false });
const sql = connect(given.env, { max: 2 });

/** Concurrent invocations, as in Lambda; each takes ten messages. */
const invocations = 2;

async function read(seconds: readonly (readonly [number, number])[]): Promise<number> {
  let pulses = 0;
  const waiting = seconds.values();
  const invoke = async () => {
    for (const [shard, second] of waiting) {
      for (let after: PulsePlace | null | undefined; after !== null; ) {
        const page = await readPulses(
          sql,
          { shard, second, targets: null, teams: null },
          after ?? null,
          new Date(),
        );
        for (const { envelopes } of page.pulses) pulses += envelopes.length;
        after = page.next;
      }
    }
  };
  await Promise.all(Array.from({ length: invocations }, invoke));
  return pulses;
}

async function work(): Promise<number> {
  let pulses = 0;
  let told = 0;
  const send = pulseSender({
    send: messageSender({ sqs, ownUrls: [], clock: systemClock }),
    put: async () => [],
  });
  const deps = {
    sql,
    queue,
    clock: systemClock,
    log: silentLog,
    random: Math.random,
    notify: notifyByDefault,
    window: null,
    deliver: async () => [],
    pulses: {
      targets: pulseTargets(sql),
      send: async (...details: Parameters<typeof send>) => {
        const outcomes = await send(...details);
        pulses += outcomes.reduce((sum, { taken }) => sum + taken, 0);
        return outcomes;
      },
    },
  };
  const url = queue.urls.fast;
  const invoke = async () => {
    for (;;) {
      const { Messages = [] } = await queue.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
      );
      if (Messages.length === 0) return;
      const { Records } = sqsEvent(Messages, "arn:aws:sqs:us-east-1:000000000000:bench-fast");
      const { batchItemFailures } = await workMessages(deps, Records, () => 60_000);
      if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} parcels failed.`);
      const Entries = Messages.map(({ ReceiptHandle }, i) => ({ Id: String(i), ReceiptHandle }));
      await queue.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
      // Messages of parcels that no longer exist may follow, and are no work.
      if (pulses > told) parentPort?.postMessage({ pulses, at: Date.now() });
      told = pulses;
    }
  };
  await Promise.all(Array.from({ length: invocations }, invoke));
  return pulses;
}

async function send(name: string, bytes: number, count: number): Promise<number> {
  const body = `[${'{"a":"b"},'.repeat(Math.ceil(bytes / 10)).slice(0, bytes)}]`;
  const target = { queue: name };
  const messages = Array.from({ length: count }, () => ({ body, target, id: "", orderedBy: "" }));
  const sent = await messageSender({ sqs, ownUrls: [], clock: systemClock })(messages, () => 60_000);
  if (sent.some(({ kind }) => kind !== "done")) throw new Error("Messages were not taken.");
  return count;
}

async function run(): Promise<number> {
  const asked = given.task;
  if (asked.does === "read") return read(asked.seconds);
  return asked.does === "work" ? work() : send(asked.queue, asked.bytes, asked.messages);
}

// Connects and compiles first, as a function has before its second invocation.
await sql`select from carillon.read_pulses(0, 0, 0, 0, null, 0, 0, '', 1, 1)`;
parentPort?.postMessage("ready");
parentPort?.once("message", async () => {
  const done = await run();
  parentPort?.postMessage({ done });
  await sql.end();
  queue.sqs.destroy();
  sqs.destroy();
});
