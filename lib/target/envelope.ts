import { jobId } from "../job/job-id.ts";
import type { ClaimedJob } from "../parcel/claim.ts";

/**
 * What every target receives: a CloudEvents 1.0 envelope. `id` is the same for every attempt at the same occurrence: the
 * receiver's idempotency key.
 */
export function envelope(job: ClaimedJob, generatedAt: Date): string {
  return jsonForQueues({
    specversion: "1.0",
    type: "carillon.job.due",
    source: "carillon",
    id: jobId(job),
    subject: job.key,
    time: job.dueAt.toISOString(),
    datacontenttype: "application/json",
    data: job.payload,
    schedulekey: job.key,
    scheduleid: job.scheduleId,
    attempt: job.attempt + 1,
    generatedat: generatedAt.toISOString(),
  });
}

/** JSON leaves two characters as they are that SQS takes no message with. */
export function jsonForQueues(value: unknown): string {
  return JSON.stringify(value).replaceAll("\uFFFE", "\\ufffe").replaceAll("\uFFFF", "\\uffff");
}
