import type { Instant, InstantText, Json } from "./json.ts";
import type { Labels, Policies } from "./policies.ts";
import type { Target } from "./target.ts";

export const jobStates = [
  "waiting",
  "running",
  "retrying",
  "succeeded",
  "skipped",
  "dead",
  "cancelled",
] as const;

export type JobState = (typeof jobStates)[number];

export type JobKind = "cadence" | "manual" | "backfill" | "again";

/** A job in a list, without its payload. */
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
  /** A cancel is requested, and the worker has not confirmed it yet. */
  cancelling: boolean;
  /** Why an open job has not started; null where it runs or is settled. */
  waitsFor: "time" | "hold" | "overlap" | "group" | "target" | "worker" | null;
  readyAt: InstantText | null;
  startedAt: InstantText | null;
  finishedAt: InstantText | null;
  latenessMs: number | null;
  durationMs: number | null;
  error: string | null;
  /**
   * The same for the same target, error class and normalised error; null once the job has succeeded.
   */
  errorGroup: string | null;
  /** For a recheck: the job that requested the first one of the chain. */
  recheckOf: string | null;
}

/** The times of the parcel in which a job travels. */
export interface ParcelTimes {
  /** When the job was made, or put up for this attempt. */
  plannedAt: InstantText | null;
  /** When its message was first sent. */
  sentAt: InstantText | null;
  /** Since when it waited for its turn at its target; null if it did not. */
  waitedSince: InstantText | null;
}

export interface Attempt extends ParcelTimes {
  attempt: number;
  /** When a worker claimed it. */
  startedAt: InstantText;
  /** When its own work ended. */
  finishedAt: InstantText;
  /** From `targetStartedAt` to `targetEndedAt`. */
  durationMs: number;
  claimedAt: InstantText;
  targetStartedAt: InstantText | null;
  targetEndedAt: InstantText | null;
  /** When the result of its parcel was written. */
  settledAt: InstantText | null;
  outcome: "succeeded" | "failed" | "crashed" | "cancelled";
  error: string | null;
  /** Null where the attempt has not failed. */
  errorGroup: string | null;
  errorClass: string | null;
  stack: string | null;
}

export interface Job extends JobSummary {
  payload: Json;
  attempts: Attempt[];
  /** The attempt that waits or is under way; null once the job has ended. */
  current: (ParcelTimes & { claimedAt: InstantText | null }) | null;
}

/** Filters that select jobs by their schedule or target. */
export interface JobOwners {
  key?: string | undefined;
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  /** A kind such as `webhook`, or one target such as `webhook/api.example.com`. */
  target?: string | undefined;
}

interface InGroups {
  /** Error groups, separated by commas: up to 20. */
  errorGroup?: string | undefined;
}

interface Late {
  /** Jobs that started at least this long after they were due: a duration such as `5m`. */
  lateBy?: string | undefined;
}

interface Found extends InGroups {
  reason?: string | undefined;
  /** Limits the occurrence; for dead jobs, the time when they died. */
  from?: Instant | undefined;
  to?: Instant | undefined;
}

export interface JobFilter extends JobOwners, Found, Late {
  state?: JobState | undefined;
  /**
   * False: only jobs whose occurrence has come. True: only jobs that are made ahead of it, or
   * enqueued for later.
   */
  upcoming?: boolean | undefined;
  /**
   * The jobs of calls of `retryMany` or `cancelMany`: the `entry` of up to 20 answers, separated by
   * commas. Takes only `state` and `prefix` beside it.
   */
  entry?: string | undefined;
}

/** How many jobs are in each state now. */
export interface JobsByState {
  count: number;
  /** There may be more: counting has a bound. */
  more: boolean;
  states: Record<JobState, number>;
}

export interface RetryFilter extends JobOwners, Found, Late {
  state?: "dead" | "cancelled" | undefined;
}

/** At least one of the filters of JobOwners, or an error group, is needed. */
export interface CancelFilter extends JobOwners, InGroups {
  state?: "waiting" | "retrying" | "running" | undefined;
}

/** The result of one call of a bulk operation; its cursor continues it. */
export interface RetriedMany {
  done: number;
  /** Matching jobs that are not retried. */
  leftOut: number;
  /** The entry of the audit, for `jobs.states` and `jobs.list`; null if no job was changed. */
  entry: string | null;
  /** Matching jobs left unchanged because their row is locked or cannot be written. */
  failed: number;
  cursor?: string;
}

export interface CancelledMany {
  done: number;
  /** Jobs of `done` that are running; their workers are notified to stop. */
  running: number;
  /** The entry of the audit, for `jobs.states` and `jobs.list`; null if no job was changed. */
  entry: string | null;
  /** Matching jobs left unchanged because their row is locked or cannot be written. */
  failed: number;
  cursor?: string;
}

/** The jobs that a bulk operation would act on. Nothing was changed. */
export interface JobsDryRun {
  dryRun: true;
  /** The time of the count. A retry of dead jobs with this as `to` leaves out those that have died since. */
  asOf: InstantText;
  count: number;
  /** There may be more: counting has a bound. */
  more: boolean;
  /** Up to five of the jobs. */
  samples: JobSummary[];
}

export interface JobGroupFilter extends JobOwners, Found {
  /** Which failed jobs are grouped; default `dead`. */
  state?: "dead" | "retrying" | undefined;
  /** The fields that the jobs of a group share; default `target,error`. */
  by?: "target,error" | "target" | "error" | "reason" | undefined;
}

/** Failed jobs with the same error. */
export interface JobGroup {
  errorGroup: string | null;
  target: string | null;
  errorClass: string | null;
  /** The normalised error: `<id>`, `<n>` and the like stand for what differs from job to job. */
  error: string | null;
  reason: string | null;
  count: number;
  /** There may be more jobs in the group than `count`. */
  more: boolean;
  firstAt: InstantText;
  lastAt: InstantText;
  schedules: number;
  /** The last of these jobs. */
  sample: { id: string; key: string | null; error: string | null };
  /** For `jobs.list`, `jobs.retryMany` or `jobs.cancelMany`; null where no filter selects the group. */
  filter: GroupedBy | null;
}

export interface GroupedBy {
  state: "dead" | "retrying";
  errorGroup?: string;
  key?: string;
  prefix?: string;
  group?: string;
  tag?: string;
  target?: string;
  reason?: string;
  from?: InstantText;
  to?: InstantText;
}

export interface JobGroups {
  items: JobGroup[];
  cursor?: string;
  /** Failed jobs that were looked at; with a filter by schedules, or a token with a prefix, those that match. */
  looked: number;
  /** There are more failed jobs than were looked at. */
  more: boolean;
  /** With `more`, for dead jobs: no death before this instant was looked at. */
  lookedFrom: InstantText | null;
}

/** A job without a lasting schedule. */
export interface EnqueueBody
  extends Pick<Policies, "retry" | "timeout" | "priority" | "serial" | "deadline">,
    Labels {
  target: Target;
  payload?: Json | undefined;
  /** An instant, or a time such as `in 5m`; default now. */
  at?: Instant | null | undefined;
  /** A key has at most one waiting job. */
  key?: string | undefined;
  /** How to treat a waiting job of this key; default `replace`. */
  ifExists?: "replace" | "keep" | "refuse" | undefined;
}

export interface BackfillParams {
  from: Instant;
  to: Instant;
  /** The most occurrences, oldest first: 1 to 10,000; default 1,000. */
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
