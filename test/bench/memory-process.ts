import { performance } from "node:perf_hooks";
import { SQSClient } from "@aws-sdk/client-sqs";
import * as z from "zod";
import { systemClock } from "../../lib/clock.ts";
import { awsClientSettings, withoutSdkLog } from "../../lib/config/aws.ts";
import { connect } from "../../lib/db/connect.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { silentLog } from "../../lib/log/log.ts";
import { parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { parcelQueueFrom } from "../../lib/parcel/parcel-queue-from.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { workMessages } from "../../lib/worker/worker.ts";

export interface MemoryUsed {
  /** The peak since the process began. */
  peakMiB: number;
  /** The memory before the first claim. */
  beginsAtMiB: number;
  jobs: number;
  ms: number;
}

const asked = z
  .object({
    env: z.record(z.string(), z.string()),
    sinkUrl: z.string(),
    destination: z.enum(["queue", "handler"]),
    ids: z.array(z.string()),
    benchHandler: z.string(),
  })
  .parse(JSON.parse(process.argv[2] ?? "null"));

const queueClass = asked.destination === "queue" ? "fast" : "slow";
const env = { ...asked.env, AWS_ENDPOINT_URL_SQS: asked.sinkUrl };
const sql = connect(env, { max: 2 });
const transactions = connect(env, { max: 2 });
const queue = parcelQueueFrom(env, silentLog);
const sqs = withoutSdkLog(new SQSClient(awsClientSettings(env, "SQS")));
const none = () => Promise.reject(new Error("This bench delivers nothing to this target."));
const common = { sql, queue, notify: notifyByDefault, log: silentLog, clock: systemClock };
const reading = defineJob({ name: asked.benchHandler, payload: z.unknown(), run: async () => {} });
const deliver = deliverTo({
  event: none,
  webhook: none,
  lambda: none,
  queue: queueTarget({ sqs, ownUrls: [], clock: systemClock }),
  handler: handlerTarget({ ...common, transactions, handlers: [reading] }),
});

const records = asked.ids.map((id) => ({
  messageId: id,
  receiptHandle: id,
  body: parcelMessage(id),
  attributes: {
    ApproximateReceiveCount: "1",
    SentTimestamp: "0",
    SenderId: "bench",
    ApproximateFirstReceiveTimestamp: "0",
  },
  messageAttributes: {},
  md5OfBody: "",
  eventSource: "aws:sqs",
  eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:bench-${queueClass}`,
  awsRegion: "us-east-1",
}));

const mebibytes = (kilobytes: number) => Math.round(kilobytes / 1_024);
let jobs = 0;
const beginsAtMiB = mebibytes(process.memoryUsage().rss / 1_024);
const began = performance.now();
const deps = { ...common, deliver, random: Math.random, window: queueClass === "slow" ? 1 : null };
const counted = {
  write: ({ Succeeded }: Record<string, unknown>) => {
    jobs += Number(Succeeded ?? 0);
  },
};
const { batchItemFailures } = await workMessages({ ...deps, metrics: counted }, records, () => 60_000);
const used: MemoryUsed = {
  peakMiB: mebibytes(process.resourceUsage().maxRSS),
  beginsAtMiB,
  jobs,
  ms: Math.round(performance.now() - began),
};
if (batchItemFailures.length > 0) process.exitCode = 2;
else process.stdout.write(JSON.stringify(used));
await Promise.all([sql.end(), transactions.end()]);
sqs.destroy();
queue.sqs.destroy();
