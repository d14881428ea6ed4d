import * as z from "zod";
import { readCalendarRules } from "../../cadence/calendar-rules.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import type { CalendarRead } from "../../rules/calendar-edits.ts";
import type { CalendarBody, CalendarHead } from "../../schedule/calendars.ts";
import { isKeyPlace, keyFault } from "../../schedule/shape/schedule-key.ts";
import { shapeFaults } from "../../schedule/shape/shape-faults.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { calendarDocs } from "../document/calendar-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { etagOf, readIfMatch, readIfNoneMatch } from "../request/etag.ts";
import { pageQuery } from "../request/query.ts";
import { noQuery, type Route, route } from "../request/route.ts";

export function calendarRoutes(operations: Operations): Route[] {
  return [...editRoutes(operations), ...readRoutes(operations)];
}

function editRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "PUT",
      path: "/v1/calendars/{name}",
      scope: "write",
      everyKey: "A change of a calendar",
      query: noQuery,
      doc: calendarDocs.put,
      kind: "bulk",
      cost: 10,
      answer: async ({ parameter, body, header, caller }) => {
        const name = readName(parameter("name"));
        const { change, calendar, replanned } = await operations.putCalendar({
          name,
          ifMatch: readIfMatch(header("if-match")),
          ifNoneMatch: readIfNoneMatch(header("if-none-match")),
          body: readCalendarBody(body(), name),
          caller,
        });
        const created = change === "created";
        return {
          status: created ? 201 : 200,
          body: { ...calendarView(calendar), replanned },
          headers: {
            etag: etagOf(calendar.version),
            ...(created ? { location: `/v1/calendars/${encodeURIComponent(name)}` } : {}),
          },
        };
      },
    }),
    route({
      method: "POST",
      path: "/v1/calendars/{name}/preview",
      scope: "read",
      everyKey: "A preview of a calendar",
      query: noQuery,
      doc: calendarDocs.preview,
      kind: "count",
      cost: 10,
      answer: async ({ parameter, body }) => {
        const name = readName(parameter("name"));
        const impact = await operations.calendarImpact({ name, body: readCalendarBody(body(), name) });
        return { status: 200, body: { name, ...impact } };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/calendars/{name}",
      scope: "write",
      everyKey: "A change of a calendar",
      query: noQuery,
      doc: calendarDocs.remove,
      answer: async ({ parameter, header, caller }) => {
        await operations.removeCalendar({
          name: readName(parameter("name")),
          ifMatch: readIfMatch(header("if-match")),
          caller,
        });
        return { status: 204 };
      },
    }),
  ];
}

function readRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/calendars",
      scope: "read",
      query: z.strictObject(pageQuery),
      doc: calendarDocs.list,
      answer: async ({ query: { cursor, limit } }) => {
        const after = cursor === undefined ? undefined : readCursor(cursor, "calendars", isKeyPlace);
        const { items, next } = await operations.listCalendars({ after, limit });
        return {
          status: 200,
          body: {
            items: items.map(headView),
            ...(next === undefined ? {} : { cursor: writeCursor("calendars", next) }),
          },
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/calendars/{name}",
      scope: "read",
      query: noQuery,
      doc: calendarDocs.get,
      answer: async ({ parameter, token }) => {
        const name = readName(parameter("name"));
        const calendar = await operations.readCalendar(name, token.prefix ?? undefined);
        if (calendar === null) throw new Refusal("missing", `There is no calendar ${JSON.stringify(name)}.`);
        return { status: 200, body: calendarView(calendar), headers: { etag: etagOf(calendar.version) } };
      },
    }),
  ];
}

/** Reads a calendar's name, which follows the rules of keys because it appears in paths as well. */
function readName(name: string): string {
  const message = keyFault(name);
  if (message === null) return name;
  throw new Refusal("invalid", "The name is not understood.", [{ path: "name", message }]);
}

/** The fields beside the rules; a body may repeat the name from the path. */
const aboutShape = z.object({
  name: z.string().optional(),
  description: storableText({ min: 0, max: 1_000 }).nullable().default(null),
});

/** Reads a calendar. A refusal lists the faults of its rules with those of other fields. */
function readCalendarBody(input: unknown, nameInPath: string): CalendarBody {
  const about = aboutShape.safeParse(input, { reportInput: true });
  const read = readCalendarRules(withoutAbout(input));
  const faults: Fault[] = [
    ...(about.success || !isObject(input) ? [] : shapeFaults(about.error)),
    ...(about.success && about.data.name !== undefined && about.data.name !== nameInPath
      ? [{ path: "name", message: "is not the name in the path" }]
      : []),
    ...(read.ok ? [] : read.faults),
  ];
  if (about.success && read.ok && faults.length === 0) {
    return { description: about.data.description, rules: read.rules };
  }
  throw new Refusal("invalid", "The calendar is not understood.", faults);
}

function withoutAbout(input: unknown): unknown {
  if (!isObject(input)) return input;
  const rest = Object.entries(input).filter(([name]) => name !== "name" && name !== "description");
  return Object.fromEntries(rest);
}

function isObject(input: unknown): input is object {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}

function calendarView({ rules, schedules, pending, more, ...head }: CalendarRead) {
  const { name, description, ...versioned } = headView(head);
  const { dates, weekly, except = [] } = rules;
  return { name, description, dates, weekly, except, ...versioned, schedules, pending, more };
}

function headView({ name, description, version, createdAt, createdBy, updatedAt, updatedBy }: CalendarHead) {
  return { name, description, version, createdAt, createdBy, updatedAt, updatedBy };
}
