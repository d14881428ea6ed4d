import { type JobKey, jobId } from "../job/job-id.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { RetryPolicy } from "../schedule/shape/retry-shape.ts";
import type { Target } from "../schedule/shape/target-shape.ts";

/** A job that may start now, with the present data of its schedule. */
export interface ClaimedJob extends JobKey {
  dueAt: Date;
  /** Attempts counted before this one. */
  attempt: number;
  plannedVersion: number;
  /** The version that is delivered. */
  version: number;
  key: string;
  group: string | null;
  /** The lane of its group, if the job passes one. */
  lane: string | null;
  /** The team of the schedule, if the job passes a lane of its group. */
  team: number | null;
  /** For a recheck: how many rechecks there have been, this one included. */
  checks: number;
  /** Attempts that the retry policy does not count, because they came before a manual retry. */
  forgiven: number;
  /** The id under which an attempt in another installation has shown the job to its receiver. */
  origin: string | null;
  target: Target;
  payload: Json;
  retry: RetryPolicy;
  timeout: string;
  /** The payload is too large to come with the claim: it is null until `readPage` has read it. */
  isHeavy?: true;
}

/** The id that receivers see, the same for every attempt: they recognize a job that they have had by it. */
export function receiversId(job: JobKey & Pick<ClaimedJob, "origin">): string {
  return job.origin ?? jobId(job);
}

/** Whether the job has passed the lane of a grouped handler: it may share a call with its group. */
export function isOfGroup({ lane }: Pick<ClaimedJob, "lane">): boolean {
  return lane?.startsWith("grouped/") === true;
}
