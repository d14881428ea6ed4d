import * as z from "zod";
import type { EntryPlace, QuarantineEntry, QuarantineFilter } from "../../quarantine/entries.ts";
import { consumers } from "../../quarantine/quarantine.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { storableText, textFault } from "../../schedule/shape/text.ts";
import type { Operations } from "../operations/operations.ts";
import { cursorSchema, pageQuery, pageSchema } from "../request/query.ts";
import { narrowed, narrowedOrRefused, refuseForeignKey } from "../request/reach.ts";
import { type Route, readShape, route, workRoute } from "../request/route.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { instantText } from "../views/instant-text.ts";

const filterShapes = {
  consumer: z
    .string()
    .max(100)
    .refine((name) => consumers.some((consumer) => consumer === name), `takes one of ${consumers.join(", ")}`)
    .optional()
    .describe(`The part of Carillon that failed: ${consumers.join(", ")}.`),
  item: storableText({ max: 1_000 }).optional().describe("The row's id, in the form that its consumer uses."),
  key: keyShape.optional().describe("Entries of the schedule with this key."),
  prefix: storableText({ max: 255 }).optional().describe("Entries of schedules whose keys begin with this."),
};

const retryShape = z.strictObject({ filter: z.strictObject(filterShapes).default({}) });

const entrySchema = z.strictObject({
  consumer: z.string(),
  item: z.string(),
  scheduleId: z.string().nullable(),
  key: z
    .string()
    .nullable()
    .describe("The key of the schedule that waits because of the row; null where no schedule does."),
  reason: z.string().describe("The error, without the values of the row."),
  firstAt: instantText.describe("When it failed first."),
  lastAt: instantText,
  tries: z.int(),
  nextAt: instantText.describe("The first tick from this instant on retries it."),
});

const entryExample = {
  consumer: "ended",
  item: "17",
  scheduleId: "17",
  key: "order:1234:unshipped",
  reason: "PostgresError: 55P03 canceling statement due to lock timeout",
  firstAt: "2026-12-01T09:00:02.000Z",
  lastAt: "2026-12-01T09:03:02.000Z",
  tries: 3,
  nextAt: "2026-12-01T09:07:02.000Z",
};

const listDoc: RouteDoc = {
  summary: "List the quarantine",
  operation: "listQuarantine",
  description:
    "Rows that a part of Carillon failed on, by consumer and item. Each is retried automatically and leaves the list when it succeeds. A page may be shorter than `limit` and still have a cursor. A token with a prefix sees those of its own schedules.",
  tag: "Insight",
  answers: {
    200: { what: "A page of entries.", schema: pageSchema(entrySchema), example: { items: [entryExample] } },
  },
};

const retryDoc: RouteDoc = {
  summary: "Retry quarantined rows",
  operation: "retryQuarantine",
  description:
    "Makes entries due: the next tick retries them. An answer with a `cursor` has more to do, even where `done` is 0: send the same body with the cursor. A token with a prefix reaches entries of its own schedules.",
  tag: "Insight",
  body: { schema: retryShape, optional: true, example: { filter: { consumer: "ended" } } },
  answers: {
    202: {
      what: "How many entries were made due.",
      schema: z.strictObject({ done: z.int(), cursor: cursorSchema }),
      example: { done: 12 },
    },
  },
};

/** The most entries that one request makes due. */
const retriedMax = 1_000;

/** Routes of the quarantine. */
export function quarantineRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/quarantine",
      scope: "read",
      query: z.strictObject({ ...filterShapes, ...pageQuery }),
      doc: listDoc,
      answer: async ({ query: { limit, cursor, ...asked }, token }) => {
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const within = narrowed(token, asked.prefix);
        if (within === null) return { status: 200, body: { items: [] } };
        const filter = { ...asked, ...within };
        const after = readPlace("quarantine", filter, cursor);
        const { items, next } = await operations.listQuarantine({ filter, after, limit });
        const more =
          next === undefined ? {} : { cursor: writeSearchCursor("quarantine", filter, placeText(next)) };
        return { status: 200, body: { items: items.map(entryView), ...more } };
      },
    }),
    workRoute({
      method: "POST",
      path: "/v1/quarantine:retry",
      scope: "write",
      query: z.strictObject({ cursor: pageQuery.cursor }),
      doc: retryDoc,
      read: ({ optionalBody, query: { cursor }, token }) => {
        const { filter: asked } = readShape(retryShape, optionalBody(), "body");
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const filter = { ...asked, prefix: narrowedOrRefused(token, asked.prefix) };
        return { filter, after: readPlace("quarantine-retries", filter, cursor), limit: retriedMax };
      },
      kind: "bulk",
      cost: { per: "each row that is made due", most: retriedMax, isReserve: true, of: ({ limit }) => limit },
      answer: async (params) => {
        const { done, next } = await operations.retryQuarantine(params);
        const more =
          next === undefined
            ? {}
            : { cursor: writeSearchCursor("quarantine-retries", params.filter, placeText(next)) };
        return { status: 202, body: { done, ...more }, units: done };
      },
    }),
  ];
}

function placeText({ consumer, item }: EntryPlace): string {
  return `${consumer}/${item}`;
}

function placeIn(text: string): EntryPlace | null {
  const [, consumer, item] = /^([a-z-]+)\/(.+)$/s.exec(text) ?? [];
  return consumer === undefined || item === undefined || textFault(item) !== null ? null : { consumer, item };
}

function readPlace(
  list: "quarantine" | "quarantine-retries",
  filter: QuarantineFilter,
  cursor: string | undefined,
) {
  const text = readSearchCursor(cursor, list, filter, (place) => placeIn(place) !== null);
  return text === undefined ? undefined : (placeIn(text) ?? undefined);
}

function entryView(entry: QuarantineEntry) {
  const { consumer, item, scheduleId, key, reason, firstAt, lastAt, tries, nextAt } = entry;
  return { consumer, item, scheduleId, key, reason, firstAt, lastAt, tries, nextAt };
}
