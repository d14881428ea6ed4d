import * as z from "zod";
import { keyedScheduleShape, pauseShape, resumeShape } from "../../command/schedule-input.ts";
import { schedulePatchShape } from "../../command/schedule-patch-shape.ts";
import { pageSchema } from "../request/query.ts";
import type { AnswerDoc, RouteDoc } from "../request/route-doc.ts";
import { movedToSchema } from "../views/moved-to.ts";
import { editedSchema, scheduleListSchema, scheduleSchema } from "../views/schedule-view.ts";
import { examples } from "./openapi-examples.ts";

const etag = { etag: "The version of the schedule, for `If-Match`." };
const tag = "Schedules";

export const created: AnswerDoc = {
  what: "The schedule is created.",
  schema: editedSchema,
  example: examples.edited,
  headers: { ...etag, location: "The path of the schedule." },
};

/** The answer of every edit of an existing schedule. */
export const changed: AnswerDoc = {
  what: "The schedule after the edit.",
  schema: editedSchema,
  example: examples.edited,
  headers: etag,
};

const create: RouteDoc = {
  summary: "Create a schedule",
  operation: "createSchedule",
  description: "Without `key`, Carillon makes one. 409 where the key exists.",
  tag,
  body: { schema: keyedScheduleShape, example: { key: examples.schedule.key, ...examples.scheduleBody } },
  answers: { 201: created },
  problems: [409, 422],
};

const put: RouteDoc = {
  summary: "Create a schedule, or replace it",
  description:
    "An identical body changes nothing and keeps the version, unless `when` is relative (`in …`): its time starts again. A `key` in the body must equal the key in the path.",
  tag,
  body: { schema: keyedScheduleShape, example: examples.scheduleBody },
  headers: ["if-match", "if-none-match"],
  answers: {
    200: { ...changed, what: "The schedule existed and is replaced, or is unchanged." },
    201: created,
  },
  problems: [412, 422],
};

const patch: RouteDoc = {
  summary: "Change some of a schedule",
  description:
    "A merge patch (RFC 7396): fields that are left out stay, `null` restores the default. The patched schedule is validated as a whole.",
  tag,
  body: { schema: schedulePatchShape, example: { when: "every 5m", tags: null } },
  headers: ["if-match"],
  answers: { 200: changed },
  problems: [404, 412, 422],
};

const remove: RouteDoc = {
  summary: "Delete a schedule",
  description: "Its waiting jobs are cancelled.",
  tag,
  headers: ["if-match"],
  answers: { 204: { what: "The schedule is deleted." } },
  problems: [404, 412],
};

const pause: RouteDoc = {
  summary: "Pause a schedule",
  description:
    "Sets a hold with an owner (the token's name; an admin may name another), a reason and optionally an end. Repeating the call changes nothing. A hold of a caller that reaches more keys cannot be changed (403), and a team has at most 100 holds of a schedule (422).",
  tag,
  body: {
    schema: pauseShape,
    optional: true,
    example: { reason: "under review", until: "2030-01-01T00:00:00Z" },
  },
  headers: ["if-match"],
  answers: { 200: changed },
  problems: [404, 412, 422],
};

const resume: RouteDoc = {
  summary: "Resume a schedule",
  description:
    "Releases the caller's hold, or for admins the hold of the named owner. The schedule runs when no hold is left. Without a hold to release, nothing changes. A hold of a caller that reaches more keys cannot be released (403).",
  tag,
  body: { schema: resumeShape, optional: true, example: { owner: "carillon" } },
  headers: ["if-match"],
  answers: { 200: changed },
  problems: [404, 412],
};

const get: RouteDoc = {
  summary: "Read a schedule",
  tag,
  answers: {
    200: { what: "The schedule.", schema: scheduleSchema, example: examples.schedule, headers: etag },
  },
  problems: [404],
};

const list: RouteDoc = {
  summary: "Search schedules",
  description:
    "Without payloads. Ordered by key; with `nextFrom` or `nextTo`, by next occurrence; with `failing` and without `group`, `tag` or one target, by creation. A page may be short or empty and still have a `cursor`, because each page scans a limited number of schedules.",
  tag,
  answers: {
    200: {
      what: "A page of schedules.",
      schema: pageSchema(scheduleListSchema),
      example: { items: [examples.listedSchedule], cursor: examples.cursor },
    },
  },
};

const count: RouteDoc = {
  summary: "Count schedules",
  description: "Counts the schedules that a search with the same filter finds.",
  tag,
  answers: {
    200: {
      what: "The number of schedules, up to the counting limit.",
      schema: z.strictObject({
        count: z.int().min(0),
        more: z.boolean().describe("True where counting stopped at its limit."),
        movedTo: movedToSchema,
      }),
      example: { count: 10_000, more: true },
    },
  },
};

export const scheduleDocs = { create, put, patch, remove, pause, resume, get, list, count };
