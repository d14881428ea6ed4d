import { jobId } from "../job/job-id.ts";
import { plainClass } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { KeptError } from "../parcel/settle.ts";
import type { SettledJobs } from "./settle-taken.ts";

/** Writes one line for each job that failed. */
export function logFailures(log: Log, { id, jobs, settlements }: { id: string } & SettledJobs): void {
  for (const [index, job] of jobs.entries()) {
    const settled = settlements[index];
    if (settled?.kind !== "retry" && settled?.kind !== "dead") continue;
    const failure = {
      job: jobId(job),
      key: job.key,
      parcel: id,
      attempt: job.attempt + 1,
      error: loggableFailure(settled),
    };
    if (settled.kind === "retry") log.warn("job.failed", failure);
    else log.error("job.dead", { ...failure, reason: settled.reason });
  }
}

/**
 * Leaves out the message of a target, which may repeat the payload or a credential; the ledger has
 * it. Logs the class of an error, or Carillon's own words about an answer: the part before the
 * colon.
 */
export function loggableFailure({ error, errorClass }: KeptError): string {
  if (errorClass !== undefined) return plainClass(errorClass);
  return error.split(":", 1)[0] ?? "";
}
