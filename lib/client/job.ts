import type { Instant, InstantText, Json } from "./json.ts";
import type { Labels, Policies } from "./policies.ts";
import type { Target } from "./target.ts";

export type JobState = "waiting" | "running" | "retrying" | "succeeded" | "skipped" | "dead" | "cancelled";

export type JobKind = "cadence" | "manual" | "backfill" | "again";

/** A job as it stands in a list: without its payload. */
export interface JobSummary {
  id: string;
  kind: JobKind;
  key: string;
  scheduleId: string;
  version: number;
  group: string | null;
  occurrence: InstantText;
  dueAt: InstantText;
  state: JobState;
  reason: string | null;
  attempt: number;
  checks: number;
  /** Somebody wants it stopped, and whoever works it has not answered yet. */
  cancelling: boolean;
  readyAt: InstantText | null;
  startedAt: InstantText | null;
  finishedAt: InstantText | null;
  latenessMs: number | null;
  durationMs: number | null;
  error: string | null;
  /** Of a recheck: the job that asked for the first. */
  recheckOf: string | null;
}

export interface Attempt {
  attempt: number;
  startedAt: InstantText;
  finishedAt: InstantText;
  durationMs: number;
  outcome: "succeeded" | "failed" | "crashed" | "cancelled";
  error: string | null;
  errorClass: string | null;
  stack: string | null;
}

export interface Job extends JobSummary {
  payload: Json;
  attempts: Attempt[];
}

/** A job that is not settled, and what keeps it waiting. */
export interface OpenJob extends JobSummary {
  waitsFor: "hold" | "overlap" | "group" | "target" | "time" | null;
}

/** Whose jobs are meant. */
export interface JobOwners {
  key?: string | undefined;
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  /** A kind such as `webhook`, or one by its name, such as `webhook/api.example.com`. */
  target?: string | undefined;
}

interface Found {
  reason?: string | undefined;
  /** Of occurrences; of dead jobs, when they died. */
  from?: Instant | undefined;
  to?: Instant | undefined;
}

export interface JobFilter extends JobOwners, Found {
  state?: JobState | undefined;
}

export interface RetryFilter extends JobOwners, Found {
  state?: "dead" | "cancelled" | undefined;
}

/** Names at least one owner. */
export interface CancelFilter extends JobOwners {
  state?: "waiting" | "retrying" | "running" | undefined;
}

/** What one call of many has done; with the cursor the next one goes on. */
export interface RetriedMany {
  done: number;
  /** Found, and not to be tried again. */
  leftOut: number;
  /** Found, and left as they are: Carillon failed on each alone. */
  failed: number;
  cursor?: string;
}

export interface CancelledMany {
  done: number;
  /** Of them those that were under way and have been asked to stop. */
  running: number;
  /** Found, and left as they are: Carillon failed on each alone. */
  failed: number;
  cursor?: string;
}

/** A job without a lasting schedule. */
export interface EnqueueBody
  extends Pick<Policies, "retry" | "timeout" | "priority" | "serial" | "deadline">,
    Labels {
  target: Target;
  payload?: Json | undefined;
  /** Now if left out; an instant, or `in 5m`. */
  at?: Instant | null | undefined;
  /** One job of a key waits at a time. */
  key?: string | undefined;
  /** What becomes of one that waits under this key: replaced if left out. */
  ifExists?: "replace" | "keep" | "refuse" | undefined;
}

export interface BackfillParams {
  from: Instant;
  to: Instant;
  /** At most so many occurrences, the oldest first: 1 to 10,000, 1,000 if left out. */
  limit?: number | undefined;
}

export interface BackfillDone {
  accepted: number;
  existing: number;
  from: InstantText;
  to: InstantText;
  more: boolean;
  next?: InstantText;
}
