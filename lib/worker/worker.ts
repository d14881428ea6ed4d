import type { SQSBatchResponse, SQSRecord } from "aws-lambda";
import { parcelOfMessage, type QueueClass } from "../parcel/parcel-queue.ts";
import { type WorkerDeps, workParcel } from "./work-parcel.ts";

/**
 * Works the parcels of a batch of messages side by side. Unproven means failed: only a message whose parcel came to a
 * proven end leaves the queue. One that Carillon did not write leaves with a log line and harms no neighbour.
 */
export async function workMessages(
  deps: WorkerDeps,
  records: readonly SQSRecord[],
  timeLeftMs: () => number,
): Promise<SQSBatchResponse> {
  const outcomes = await Promise.allSettled(records.map((record) => workMessage(deps, record, timeLeftMs)));
  const batchItemFailures = records.flatMap(({ messageId }, index) => {
    const outcome = outcomes[index];
    if (outcome?.status === "fulfilled") return [];
    deps.log.error("worker.failed", { message: messageId, error: String(outcome?.reason) });
    return [{ itemIdentifier: messageId }];
  });
  return { batchItemFailures };
}

async function workMessage(deps: WorkerDeps, record: SQSRecord, timeLeftMs: () => number): Promise<void> {
  const parcel = parcelOfMessage(record.body);
  if (parcel === null) {
    deps.log.warn("parcel.odd-message", { message: record.messageId });
    return;
  }
  await workParcel(deps, parcel, queueOf(deps, record), timeLeftMs);
}

/** The same code works both queues; which one a message came from stands in its ARN. */
function queueOf({ queue }: WorkerDeps, { eventSourceARN }: SQSRecord): QueueClass {
  const name = eventSourceARN.split(":").at(-1);
  return queue.urls.fast.endsWith(`/${name}`) ? "fast" : "slow";
}
