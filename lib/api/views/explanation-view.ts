import * as z from "zod";
import type { DescribedOccurrence } from "../../cadence/occurrence-notes.ts";
import type { Explanation } from "../../explain/explain.ts";
import type { LateCause, Outcome } from "../../explain/verdict.ts";
import { outageKinds } from "../../parcel/outages.ts";
import type { ScheduleChange } from "../../schedule/stored/version-rows.ts";
import { instantText } from "./instant-text.ts";
import { jobListSchema, jobListView } from "./job-view.ts";
import { holdSchema } from "./schedule-view.ts";

export const outcomeSchema: z.ZodType<Outcome> = z.enum([
  "not-created",
  "before-start",
  "ran",
  "running",
  "waiting",
  "retrying",
  "dead",
  "cancelled",
  "skipped",
  "held",
  "backlog",
  "not-planned-yet",
  "planned",
  "set-aside",
  "withdrawn",
  "moved",
  "not-an-occurrence",
  "after-end",
  "deleted",
  "moved-away",
  "too-old",
  "fired",
  "unrecorded",
]);

const lateCause: z.ZodType<LateCause> = z.enum([
  "hold",
  "lane",
  "edit",
  "tick",
  "database",
  "worker",
  "target",
  "backlog",
  "unrecorded",
]);

export const scheduleChange: z.ZodType<ScheduleChange> = z.enum([
  "created",
  "replaced",
  "patched",
  "paused",
  "resumed",
  "deleted",
  "restored",
  "replanned",
]);

const nearestSchema = z
  .strictObject({ at: instantText, wall: z.string(), note: z.string().nullable() })
  .nullable();

export const explanationSchema = z
  .strictObject({
    key: z.string(),
    scheduleId: z.string(),
    at: instantText.describe("The occurrence that is explained."),
    asked: instantText
      .optional()
      .describe("The requested instant, where it differs from `at`: its due time, or up to a second away."),
    wall: z.string().describe("The time on the clocks of the zone."),
    outcome: outcomeSchema,
    reason: z.string().optional(),
    sentence: z.string().describe("The explanation in plain English."),
    occurrence: z.boolean().describe("Whether the schedule has an occurrence at `at`."),
    version: z.int().nullable(),
    cadence: z.string().nullable(),
    dueAt: instantText.nullable(),
    note: z.string().optional().describe("The effect of a clock change or a calendar on it."),
    job: jobListSchema.optional(),
    beside: z
      .array(jobListSchema)
      .optional()
      .describe("Other jobs of the same instant, such as fires and backfills."),
    late: z.strictObject({ byMs: z.number(), because: lateCause }).optional(),
    outage: z
      .strictObject({ what: z.enum(outageKinds), from: instantText, to: instantText.nullable() })
      .optional()
      .describe("The outage that delayed or prevented it; `to` is null while it lasts."),
    collapsedInto: instantText.optional(),
    behind: instantText.optional(),
    setAside: z
      .array(
        z.strictObject({
          consumer: z.string(),
          reason: z.string(),
          firstAt: instantText,
          tries: z.int(),
          nextAt: instantText,
        }),
      )
      .optional()
      .describe("Why a part of Carillon has the schedule set aside now."),
    heldBy: z.array(holdSchema).optional(),
    passedOver: z
      .strictObject({
        from: instantText,
        to: instantText,
        count: z.int().nullable().describe("Null where the number is not known."),
        more: z.boolean(),
        reason: z.string(),
        notedAt: instantText,
      })
      .optional(),
    backlog: z.strictObject({ before: z.int() }).optional(),
    calendar: z.strictObject({ name: z.string(), day: z.string(), entry: z.string().nullable() }).optional(),
    movedTo: instantText.nullable().optional(),
    edit: z
      .strictObject({ version: z.int(), change: scheduleChange, by: z.string(), at: instantText })
      .optional(),
    recheck: z.strictObject({ of: z.string(), number: z.int(), followed: z.int() }).optional(),
    nearest: z.strictObject({ before: nearestSchema, after: nearestSchema }),
  })
  .meta({ id: "Explanation", description: "The outcome of an instant of a schedule, with the reason." });

/** JSON leaves out undefined fields, so the answer has only fields that apply to this instant. */
export function explanationView(explanation: Explanation) {
  const { key, scheduleId, at, asked, wall, outcome, reason, sentence, occurrence, version, cadence, dueAt } =
    explanation;
  const { note, job, beside, nearest, late, collapsedInto, behind, setAside, heldBy, passedOver } =
    explanation;
  const { backlog, calendar, movedTo, edit, outage, recheck } = explanation;
  return {
    key,
    scheduleId,
    at,
    asked: asked ?? undefined,
    wall,
    outcome,
    reason,
    sentence,
    occurrence,
    version,
    cadence,
    dueAt,
    note: note ?? undefined,
    job: job === null ? undefined : jobListView(job),
    beside: beside.length === 0 ? undefined : beside.map(jobListView),
    late,
    outage,
    collapsedInto,
    behind,
    setAside,
    heldBy,
    passedOver,
    backlog,
    calendar,
    movedTo,
    edit,
    recheck,
    nearest: { before: nearestView(nearest.before), after: nearestView(nearest.after) },
  };
}

function nearestView(nearest: DescribedOccurrence | null) {
  return nearest === null ? null : { ...nearest, at: new Date(nearest.at) };
}
