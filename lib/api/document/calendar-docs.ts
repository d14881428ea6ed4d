import * as z from "zod";
import { calendarDatesMax, dateEntryForm, weekdays } from "../../cadence/calendar-rules.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { examples } from "./openapi-examples.ts";

const dates = z.array(z.string().regex(dateEntryForm)).max(calendarDatesMax).default([]);

/** A calendar as it is sent. calendar-rules.ts reads its rules and checks that the days exist. */
export const calendarShape = z
  .strictObject({
    name: keyShape.optional().describe("If present, it must equal the name in the path."),
    description: storableText({ min: 0, max: 1_000 }).nullable().default(null),
    dates: dates.describe(
      "Days off: a day (2026-12-25), a day of every year (12-25), or a range of either (2026-12-24..2027-01-02).",
    ),
    weekly: z
      .array(z.enum(weekdays))
      .max(calendarDatesMax)
      .default([])
      .describe("Days off in every week; not all seven."),
    except: dates.describe("Working days, even if `dates` or `weekly` excludes them."),
  })
  .meta({ id: "CalendarInput" });

const headFields = {
  name: z.string(),
  description: z.string().nullable(),
  version: z.int(),
  createdAt: instantText,
  createdBy: z.string(),
  updatedAt: instantText,
  updatedBy: z.string(),
};

const calendarFields = {
  ...headFields,
  dates: z.array(z.string()),
  weekly: z.array(z.enum(weekdays)),
  except: z.array(z.string()),
  schedules: z.int().describe("Schedules that use the calendar: those that the token reaches."),
  pending: z.int().describe("Schedules still planned by older rules; the next ticks replan them."),
  more: z.boolean().describe("True where there are more schedules than were counted."),
};

const listedSchema = z.strictObject(headFields).meta({ id: "ListedCalendar" });
const calendarSchema = z.strictObject(calendarFields).meta({ id: "Calendar" });
const putSchema = z
  .strictObject({
    ...calendarFields,
    replanned: z.int().describe("Schedules that were replanned before the answer."),
  })
  .meta({ id: "PutCalendar" });

const runs = z.array(instantText);
const previewSchema = z
  .strictObject({
    name: z.string(),
    change: z.enum(["created", "changed", "unchanged"]),
    schedules: z.int().describe("Schedules that use the calendar."),
    more: z.boolean().describe("True where there are more schedules than were counted."),
    looked: z
      .int()
      .describe(
        "Schedules whose coming runs were compared, the oldest first: 1,000 at most, in three seconds.",
      ),
    affected: z.int().describe("Those among them that would run at other instants in the next 400 days."),
    samples: z
      .array(
        z.strictObject({
          key: z.string(),
          timezone: z.string(),
          cadence: z.string(),
          before: runs,
          after: runs,
        }),
      )
      .describe("The first ten of these, with the runs from the first one that changes."),
  })
  .meta({ id: "CalendarPreview" });

const head = {
  name: "holidays",
  description: null,
  version: 1,
  createdAt: "2026-12-01T06:00:00.000Z",
  createdBy: "shop",
  updatedAt: "2026-12-01T06:00:00.000Z",
  updatedBy: "shop",
};
const calendar = {
  ...head,
  dates: ["12-25", "2026-12-28..2026-12-31"],
  weekly: ["sat", "sun"],
  except: [],
  schedules: 2,
  pending: 0,
  more: false,
};

const tag = "Calendars";
const etag = { etag: "The version of the calendar, for `If-Match`." };
const put = { ...calendar, replanned: 2 };

export const calendarDocs = {
  put: {
    summary: "Create a calendar, or replace it",
    description: "Its schedules are replanned: some before the answer, the rest by the next ticks.",
    tag,
    body: {
      schema: calendarShape,
      example: { dates: ["12-25", "2026-12-28..2026-12-31"], weekly: ["sat", "sun"] },
    },
    headers: ["if-match", "if-none-match"],
    answers: {
      200: { what: "The calendar existed and is replaced.", schema: putSchema, example: put, headers: etag },
      201: {
        what: "The calendar is created.",
        schema: putSchema,
        example: put,
        headers: { ...etag, location: "The path of the calendar." },
      },
    },
    problems: [412],
  },
  preview: {
    summary: "Preview a change of a calendar",
    description:
      "Says whose runs a PUT with this body would move or skip. Nothing is changed. 3,000 runs of each cadence are compared at most, from the first day that changes.",
    tag,
    body: { schema: calendarShape, example: { dates: ["12-24", "12-25"] } },
    answers: {
      200: {
        what: "What would change.",
        schema: previewSchema,
        example: {
          name: "holidays",
          change: "changed",
          schedules: 2,
          more: false,
          looked: 2,
          affected: 1,
          samples: [
            {
              key: "report:daily",
              timezone: "Europe/Berlin",
              cadence: "0 9 * * *",
              before: ["2026-12-24T08:00:00.000Z", "2026-12-26T08:00:00.000Z"],
              after: ["2026-12-26T08:00:00.000Z", "2026-12-27T08:00:00.000Z"],
            },
          ],
        },
      },
    },
  },
  remove: {
    summary: "Delete a calendar",
    description: "409 while a schedule uses it.",
    tag,
    headers: ["if-match"],
    answers: { 204: { what: "The calendar is deleted." } },
    problems: [404, 409, 412],
  },
  list: {
    summary: "List calendars",
    description: "Ordered by name, without rules.",
    tag,
    answers: {
      200: {
        what: "A page of calendars.",
        schema: pageSchema(listedSchema),
        example: { items: [head], cursor: examples.cursor },
      },
    },
  },
  get: {
    summary: "Read a calendar",
    tag,
    answers: { 200: { what: "The calendar.", schema: calendarSchema, example: calendar, headers: etag } },
    problems: [404],
  },
} satisfies Record<string, RouteDoc>;
