import type { SQSBatchResponse, SQSRecord } from "aws-lambda";
import { errorText } from "../log/error-text.ts";
import type { Metrics } from "../log/metrics.ts";
import { parcelOfMessage, type QueueClass } from "../parcel/parcel-queue.ts";
import { measuredWork } from "./measure-work.ts";
import { type WorkerDeps, workParcel } from "./work-parcel.ts";

/**
 * Works the parcels of a batch of messages side by side. Unproven means failed: only a message whose parcel came to a
 * proven end leaves the queue. One that Carillon did not write leaves with a log line and harms no neighbour.
 */
export async function workMessages(
  { metrics, ...deps }: WorkerDeps & { metrics?: Metrics | undefined },
  records: readonly SQSRecord[],
  timeLeftMs: () => number,
): Promise<SQSBatchResponse> {
  const measure = metrics === undefined ? undefined : measuredWork();
  const outcomes = await Promise.allSettled(
    records.map((record) => workMessage({ ...deps, measure }, record, timeLeftMs)),
  );
  const [first] = records;
  if (measure !== undefined && first !== undefined)
    metrics?.write(measure.measured(), { queue: queueOf(deps, first) });
  const batchItemFailures = records.flatMap(({ messageId }, index) => {
    const outcome = outcomes[index];
    if (outcome?.status === "fulfilled") return [];
    deps.log.error("worker.failed", { message: messageId, error: errorText(outcome?.reason) });
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
