import { PurgeQueueCommand, SendMessageBatchCommand } from "@aws-sdk/client-sqs";
import { envelope } from "../../lib/target/envelope.ts";
import { claimedJob } from "../support/claimed-job.ts";
import type { BenchStack } from "./bench-stack.ts";
import { benchSink } from "./drain-fill.ts";
import { perSecond } from "./report.ts";

const entriesMax = 10;
const requestsInFlight = 8;

/**
 * The emulator's rate for the same messages from a sender without other work; no drain into it can
 * be faster.
 */
export async function emulatorCeiling({ queue }: BenchStack, messages: number): Promise<number> {
  const QueueUrl = queue.urls.fast.replace(/[^/]+$/, benchSink);
  const body = envelope(claimedJob({ queue: benchSink }), new Date());
  const Entries = Array.from({ length: entriesMax }, (_, i) => ({ Id: String(i), MessageBody: body }));
  let left = Math.ceil(messages / entriesMax);
  const lane = async () => {
    for (; left > 0; ) {
      left -= 1;
      const { Failed = [] } = await queue.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
      if (Failed.length > 0) throw new Error(`The emulator refused ${Failed.length} messages.`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: requestsInFlight }, lane));
  const ms = performance.now() - startedAt;
  await queue.sqs.send(new PurgeQueueCommand({ QueueUrl }));
  return perSecond(Math.ceil(messages / entriesMax) * entriesMax, ms);
}
