import type { JobKey } from "../job/job-id.ts";
import type { Json } from "../schedule/shape/json.ts";
import type { RetryPolicy } from "../schedule/shape/retry-shape.ts";
import type { Target } from "../schedule/shape/target-shape.ts";

/** A job that may start now, with what its schedule says at this moment. */
export interface ClaimedJob extends JobKey {
  dueAt: Date;
  /** Attempts counted before this one. */
  attempt: number;
  plannedVersion: number;
  /** The version that runs. */
  version: number;
  key: string;
  group: string | null;
  /** The lane it passed because it shares a group. */
  lane: string | null;
  /** Of a recheck: how many there have been with it. */
  checks: number;
  /** Attempts that the retry policy does not count: they were before somebody had it tried again. */
  forgiven: number;
  target: Target;
  payload: Json;
  retry: RetryPolicy;
  timeout: string;
  /** Its payload is too large to come with the claim, and null until `readPage` has it. */
  isHeavy?: true;
}
