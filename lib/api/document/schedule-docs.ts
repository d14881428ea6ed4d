import * as z from "zod";
import {
  keyedScheduleShape,
  pauseShape,
  resumeShape,
  schedulePatchShape,
} from "../../command/schedule-input.ts";
import { pageSchema } from "../request/query.ts";
import type { AnswerDoc, RouteDoc } from "../request/route-doc.ts";
import { editedSchema, scheduleListSchema, scheduleSchema } from "../views/schedule-view.ts";
import { examples } from "./openapi-examples.ts";

const etag = { etag: "Its version, for `If-Match`." };
const tag = "Schedules";

const created: AnswerDoc = {
  what: "It is new.",
  schema: editedSchema,
  example: examples.edited,
  headers: { ...etag, location: "The path under which it is read." },
};

/** What every edit answers with that makes nothing new. */
export const changed: AnswerDoc = {
  what: "As it is now.",
  schema: editedSchema,
  example: examples.edited,
  headers: etag,
};

const create: RouteDoc = {
  summary: "Create a schedule",
  operation: "createSchedule",
  description: "Without a `key` one is made. 409 where the key exists.",
  tag,
  body: { schema: keyedScheduleShape, example: { key: examples.schedule.key, ...examples.scheduleBody } },
  answers: { 201: created },
  problems: [409, 422],
};

const put: RouteDoc = {
  summary: "Create a schedule, or replace it",
  description:
    "An identical body changes nothing and keeps the version, unless `when` is relative (`in …`): that counts anew. A `key` in the body is the one in the path.",
  tag,
  body: { schema: keyedScheduleShape, example: examples.scheduleBody },
  headers: ["if-match", "if-none-match"],
  answers: { 200: { ...changed, what: "It was there, and is now as asked." }, 201: created },
  problems: [412, 422],
};

const patch: RouteDoc = {
  summary: "Change some of a schedule",
  description:
    "A merge patch (RFC 7396): what is not named stays, `null` restores the default. What comes of it is read as a whole schedule is.",
  tag,
  body: { schema: schedulePatchShape, example: { when: "every 5m", tags: null } },
  headers: ["if-match"],
  answers: { 200: changed },
  problems: [404, 412, 422],
};

const remove: RouteDoc = {
  summary: "Delete a schedule",
  description: "What waits of its jobs is cancelled.",
  tag,
  headers: ["if-match"],
  answers: { 204: { what: "It is gone." } },
  problems: [404, 412],
};

const pause: RouteDoc = {
  summary: "Pause a schedule",
  description:
    "Sets a hold with an owner (the token's name; an admin may name another), a reason and maybe an end. The same again changes nothing.",
  tag,
  body: {
    schema: pauseShape,
    optional: true,
    example: { reason: "under review", until: "2030-01-01T00:00:00Z" },
  },
  headers: ["if-match"],
  answers: { 200: changed },
  problems: [404, 412],
};

const resume: RouteDoc = {
  summary: "Resume a schedule",
  description:
    "Releases the caller's own hold, or for admins the named owner's. It runs when no hold is left. Where there is nothing to release, nothing changes.",
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
    200: { what: "As it is now.", schema: scheduleSchema, example: examples.schedule, headers: etag },
  },
  problems: [404],
};

const list: RouteDoc = {
  summary: "Search schedules",
  description:
    "Without payloads. In the order of keys; with `nextFrom` or `nextTo`, the next to run first; with `failing`, unless a group, a tag or one target is named, in the order in which they were created. A page may be short, even empty, while it has a `cursor`: each looks at so many schedules at most.",
  tag,
  answers: {
    200: {
      what: "A page of what was found.",
      schema: pageSchema(scheduleListSchema),
      example: { items: [examples.listedSchedule], cursor: examples.cursor },
    },
  },
};

const count: RouteDoc = {
  summary: "Count schedules",
  description: "What a search with the same filter finds.",
  tag,
  answers: {
    200: {
      what: "How many there are, as far as they were counted.",
      schema: z.strictObject({
        count: z.int().min(0),
        more: z.boolean().describe("There may be more than were counted."),
      }),
      example: { count: 10_000, more: true },
    },
  },
};

export const scheduleDocs = { create, put, patch, remove, pause, resume, get, list, count };
