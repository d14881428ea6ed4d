import * as z from "zod";
import type { Json } from "../schedule/shape/json.ts";

/** Raised with each change of the documents that the previous release could not read. */
export const docFormat = 1;

const instant = z.iso.datetime({ offset: false });
const maybeInstant = instant.nullable();
const json = z.json().transform((value): Json => value as Json);
const kind = z.enum(["cadence", "manual", "backfill", "again"]);

const cadence = z.strictObject({
  onceAt: maybeInstant,
  firstAt: maybeInstant,
  everyMs: z.int().min(1_000).nullable(),
  startsAt: maybeInstant,
  endsAt: maybeInstant,
  /** The cadences that have a text instead: see `storedForm`. */
  expression: z.string().nullable(),
  timezone: z.string().nullable(),
  dst: z.string().nullable(),
  calendarOn: z.enum(["skip", "next", "previous"]).nullable(),
  calendar: z.string().nullable(),
});

const version = z.strictObject({
  version: z.int().min(1),
  specVersion: z.int().min(1),
  change: z.enum(["created", "replaced", "patched", "paused", "resumed", "deleted", "restored", "replanned"]),
  changedAt: instant,
  changedBy: z.string(),
  held: z.boolean(),
  heldUntil: maybeInstant,
  /** Null for a version that changed the state alone. */
  spec: z.strictObject({ cadence, body: json, target: json, payload: json }).nullable(),
});

const hold = z.strictObject({
  scope: z.enum(["schedule", "group", "tag"]),
  name: z.string(),
  owner: z.string(),
  reason: z.string().nullable(),
  since: instant,
  until: maybeInstant,
  reach: z.string().nullable(),
  team: z.string().nullable(),
});

const owed = z.strictObject({
  kind,
  occurrences: z.array(instant).min(1),
  dues: z.array(instant).min(1),
});

const attempt = z.strictObject({
  attempt: z.int().min(1),
  startedAt: instant,
  finishedAt: instant,
  outcome: z.enum(["succeeded", "failed", "crashed", "cancelled"]),
  error: z.string().nullable(),
  errorClass: z.string().nullable(),
  stack: z.string().nullable(),
});

const job = z.strictObject({
  occurrence: instant,
  kind,
  n: z.int().min(0),
  dueAt: instant,
  readyAt: maybeInstant,
  /** False for a job of a coming occurrence that was cancelled: it must not be made again. */
  open: z.boolean(),
  reason: z.string().nullable(),
  version: z.int().min(1),
  attempt: z.int().min(0),
  startedAt: maybeInstant,
  finishedAt: maybeInstant,
  error: z.string().nullable(),
  payload: json.nullable(),
  checks: z.int().nullable(),
  root: z.strictObject({ occurrence: instant, kind, n: z.int() }).nullable(),
  forgiven: z.int().nullable(),
  /** The id by which receivers know the job, once an attempt has begun. */
  origin: z.string().nullable(),
  attempts: z.array(attempt),
});

const schedule = z.strictObject({
  key: z.string(),
  version: z.int().min(1),
  specVersion: z.int().min(1),
  freshVersion: z.int().nullable(),
  createdAt: instant,
  createdBy: z.string(),
  fires: z.int().nullable(),
  failures: z.int().nullable(),
  /** From here on no occurrence has a job, except those that `jobs` and `owed` name. */
  heldSince: instant,
  /** Up to here the schedule was held by others than the move; later occurrences all run. */
  heldTo: maybeInstant,
  holds: z.array(hold),
  versions: z.array(version).min(1),
});

/**
 * One part of a schedule on its way. Part 0 has the schedule, and each part some of its jobs and of
 * its occurrences that are still to become jobs.
 */
export const movedPartShape = z.strictObject({
  format: z.literal(docFormat),
  id: z.string().regex(/^[1-9]\d{0,18}$/),
  part: z.int().min(0),
  schedule: schedule.nullable(),
  jobs: z.array(job).max(1_000),
  owed: z.array(owed).max(1_000),
});

export type MovedPart = z.infer<typeof movedPartShape>;
export type MovedSchedule = z.infer<typeof schedule>;
export type MovedVersion = z.infer<typeof version>;
export type MovedJob = z.infer<typeof job>;
export type MovedOwed = z.infer<typeof owed>;
