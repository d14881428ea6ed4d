import * as z from "zod";
import { jobKinds } from "../../job/job-id.ts";
import type { ParcelTimes } from "../../job/read-attempts.ts";
import { type JobRead, jobStates } from "../../job/read-job.ts";
import { instantText } from "./instant-text.ts";

const jobFields = {
  id: z.string().describe("The same for every attempt, so receivers can use it as an idempotency key."),
  kind: z.enum(jobKinds),
  key: z.string().describe("The key of its schedule."),
  scheduleId: z.string(),
  version: z.int().describe("The version of the schedule that the job uses."),
  group: z.string().nullable(),
  occurrence: instantText.describe("The nominal instant, which never moves."),
  dueAt: instantText.describe("When it may start: the occurrence after `spread` and `slot`."),
  state: z.enum(jobStates),
  reason: z.string().nullable(),
  attempt: z.int().describe("The number of attempts so far."),
  checks: z.int().describe("For a recheck: its number in the chain of rechecks."),
  cancelling: z.boolean().describe("A cancel is requested, and the worker has not confirmed it yet."),
  waitsFor: z
    .enum(["time", "hold", "overlap", "group", "target", "worker"])
    .nullable()
    .describe(
      "Why an open job has not started: its time, a hold, an earlier run of its schedule, another job of its group, room at its target, or a worker. Null where it runs or is settled.",
    ),
  readyAt: instantText.nullable().describe("When the next attempt may start."),
  startedAt: instantText.nullable().describe("When a worker first claimed it."),
  finishedAt: instantText
    .nullable()
    .describe("When its own work ended, also if other jobs of its parcel took longer."),
  latenessMs: z.number().nullable().describe("From `dueAt` to `startedAt`."),
  durationMs: z
    .number()
    .nullable()
    .describe(
      "How long its last attempt took at the target, without waits before it. Each attempt has its own.",
    ),
  error: z.string().nullable(),
  errorGroup: z
    .string()
    .nullable()
    .describe(
      "The same for the same target, error class and normalised error. It is that of the last failed attempt, and null once the job has succeeded.",
    ),
  recheckOf: z
    .string()
    .nullable()
    .describe("For a recheck: the job that requested the first one of the chain."),
};

const parcelTimes = {
  plannedAt: instantText.nullable().describe("When the job was made, or put up for this attempt."),
  sentAt: instantText
    .nullable()
    .describe("When its message was first sent. Null if it was claimed before that was noted."),
  waitedSince: instantText
    .nullable()
    .describe("Since when it waited for its turn at its target; null if it did not."),
};

const attemptSchema = z.strictObject({
  attempt: z.int(),
  startedAt: instantText.describe("When a worker claimed it: the same as `claimedAt`."),
  finishedAt: instantText.describe("When its own work ended."),
  durationMs: z.number().describe("From `targetStartedAt` to `targetEndedAt`."),
  ...parcelTimes,
  claimedAt: instantText,
  targetStartedAt: instantText
    .nullable()
    .describe("When the target began. Later than the claim if other jobs of the parcel were before it."),
  targetEndedAt: instantText.nullable(),
  settledAt: instantText
    .nullable()
    .describe("When the result of its parcel was written, with that of all jobs in it."),
  outcome: z.enum(["succeeded", "failed", "crashed", "cancelled"]),
  error: z.string().nullable(),
  errorGroup: z.string().nullable().describe("Null where the attempt has not failed."),
  errorClass: z.string().nullable(),
  stack: z.string().nullable(),
});

const currentSchema = z
  .strictObject({ ...parcelTimes, claimedAt: instantText.nullable() })
  .nullable()
  .describe("The attempt that waits or is under way; null once the job has ended.");

export const jobListSchema = z
  .strictObject(jobFields)
  .meta({ id: "ListedJob", description: "A job in a list, without its payload." });

export const jobSchema = z
  .strictObject({
    ...jobFields,
    payload: z.unknown(),
    attempts: z.array(attemptSchema),
    current: currentSchema,
  })
  .meta({ id: "Job", description: "The durable record of one occurrence." });

/** A single job, with its payload and its attempts. */
export function jobView(job: JobRead) {
  return {
    ...jobListView(job),
    payload: job.payload ?? null,
    attempts: (job.attempts ?? []).map((each) => ({
      attempt: each.attempt,
      startedAt: each.startedAt,
      finishedAt: each.finishedAt,
      durationMs: each.durationMs,
      ...parcelTimesView(each),
      claimedAt: each.claimedAt,
      targetStartedAt: each.targetStartedAt,
      targetEndedAt: each.targetEndedAt,
      settledAt: each.settledAt,
      outcome: each.outcome,
      error: each.error,
      errorGroup: each.errorGroup,
      errorClass: each.errorClass,
      stack: each.stack,
    })),
    current:
      job.current == null ? null : { ...parcelTimesView(job.current), claimedAt: job.current.claimedAt },
  };
}

function parcelTimesView({ plannedAt, sentAt, waitedSince }: ParcelTimes) {
  return { plannedAt, sentAt, waitedSince };
}

/** A job in a list, without its payload. */
export function jobListView(job: JobRead) {
  return {
    id: job.id,
    kind: job.kind,
    key: job.key,
    scheduleId: job.scheduleId,
    version: job.version,
    group: job.group,
    occurrence: job.occurrence,
    dueAt: job.dueAt,
    state: job.state,
    reason: job.reason,
    attempt: job.attempt,
    checks: job.checks,
    cancelling: job.cancelling,
    waitsFor: job.waitsFor,
    readyAt: job.readyAt,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
    latenessMs: job.latenessMs,
    durationMs: job.durationMs,
    error: job.error,
    errorGroup: job.errorGroup,
    recheckOf: job.recheckOf,
  };
}
