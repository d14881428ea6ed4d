import * as z from "zod";
import type { ScheduleRead } from "../../history/read-schedule.ts";
import type { Hold } from "../../schedule/holds.ts";
import { shownIfKnown } from "../../schedule/shape/target-credentials.ts";
import { instantText } from "./instant-text.ts";
import { jobListSchema, jobListView } from "./job-view.ts";
import { specFields, unreadableShape } from "./spec-view.ts";

export const holdSchema = z
  .strictObject({
    owner: z.string(),
    reason: z.string().nullable(),
    until: instantText.nullable(),
    since: instantText,
    group: z.string().optional().describe("The group it was set on."),
    tag: z.string().optional().describe("The tag it was set on."),
    reach: z
      .string()
      .nullable()
      .optional()
      .describe(
        "For a current hold: its maker reached the keys that begin with this; empty for all keys. Only a token that reaches as many may release it. Null for a hold that Carillon has set by itself, and for one of an older version.",
      ),
  })
  .meta({ id: "Hold", description: "A pause with an owner, a reason and optionally an end." });

const listedFields = {
  id: z.string(),
  key: z.string(),
  state: z.enum(["active", "paused", "ended"]),
  version: z.int(),
  cadence: z.string().describe("The `when` in its normal form."),
  cadenceText: z.string().describe("The `when` in English."),
  nextAt: instantText.nullable().describe("The next occurrence that has not started."),
  ...specFields,
  unreadable: unreadableShape,
  holds: z.array(holdSchema),
  checks: z.int().describe("How many rechecks in a row the newest run has requested."),
  warnings: z.array(z.string()),
  createdAt: instantText,
  createdBy: z.string(),
  updatedAt: instantText,
  updatedBy: z.string(),
};

export const scheduleListSchema = z
  .strictObject(listedFields)
  .meta({ id: "ListedSchedule", description: "A schedule in a list, without its payload." });

export const scheduleSchema = z
  .strictObject({ ...listedFields, payload: z.unknown(), lastJob: jobListSchema.nullable() })
  .meta({ id: "Schedule", description: "A schedule, with its newest job that has started." });

export const editedSchema = z
  .strictObject({
    ...listedFields,
    payload: z.unknown(),
    changes: z
      .strictObject({ before: z.array(instantText), after: z.array(instantText) })
      .describe("The coming occurrences as they were before the edit and as they are now, up to five each."),
  })
  .meta({
    id: "EditedSchedule",
    description: "A schedule after an edit, with its coming occurrences before and after.",
  });

/** A single schedule; `lastJob` is present only where the caller requests it. */
export function scheduleView(schedule: ScheduleRead) {
  const { lastJob } = schedule;
  return {
    ...scheduleListView(schedule),
    payload: schedule.body.payload,
    ...(lastJob === undefined ? {} : { lastJob: lastJob === null ? null : jobListView(lastJob) }),
  };
}

/** A schedule in a list, without its payload. */
export function scheduleListView({ body, ...schedule }: ScheduleRead) {
  return {
    id: schedule.id,
    key: schedule.key,
    state: schedule.state,
    version: schedule.version,
    when: body.when,
    timezone: body.timezone,
    cadence: schedule.cadence,
    cadenceText: schedule.cadenceText,
    nextAt: schedule.nextAt,
    target: shownIfKnown(body.target),
    group: body.group,
    serial: body.serial,
    priority: body.priority,
    tags: body.tags,
    description: body.description,
    startsAt: body.startsAt,
    endsAt: body.endsAt,
    maxFires: body.maxFires,
    calendar: body.calendar,
    catchUp: body.catchUp,
    deadline: body.deadline,
    overlap: body.overlap,
    spread: body.spread,
    slot: body.slot,
    dst: body.dst,
    retry: body.retry,
    timeout: body.timeout,
    holdAfter: body.holdAfter,
    delivery: body.delivery,
    deleteOnEnd: body.deleteOnEnd,
    ...(schedule.unreadable === null ? {} : { unreadable: schedule.unreadable }),
    holds: schedule.holds.map(holdView),
    checks: schedule.checks,
    warnings: schedule.warnings,
    createdAt: schedule.createdAt,
    createdBy: schedule.createdBy,
    updatedAt: schedule.updatedAt,
    updatedBy: schedule.updatedBy,
  };
}

/** A hold of a group or a tag names it. */
export function holdView({ scope, name, owner, reason, until, since, reach }: Hold) {
  return { owner, reason, until, since, ...(scope === "schedule" ? {} : { [scope]: name }), reach };
}
