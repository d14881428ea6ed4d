import * as z from "zod";
import { textFault } from "../../../schedule/shape/text.ts";
import type { Operations } from "../../operations/operations.ts";
import { readCursor, writeCursor } from "../../request/cursor.ts";
import { pageQuery, pageSchema } from "../../request/query.ts";
import { type Route, route } from "../../request/route.ts";

const usage = (what: string) =>
  z
    .strictObject({
      used: z.number(),
      allowed: z.number().nullable().describe("Null for no limit."),
    })
    .describe(what);

const quotasSchema = z
  .strictObject({
    prefix: z.string(),
    schedules: usage("Schedules with a key of the prefix that are not deleted."),
    firesPerMinute: usage(
      "Their planned occurrences a minute, on average or within the densest minute of each schedule, rounded up.",
    ),
    payloadBytes: usage("The bytes of their payloads as JSON."),
    payloadBytesPerDay: usage(
      "The bytes of payloads and targets that edits have written since midnight UTC, also those of old versions, of single fires and of deleted schedules.",
    ),
    tokens: usage("Tokens whose first prefix it is."),
    holds: usage("Holds of groups and tags that such tokens have set."),
    inboxRows: usage("Commands in the SQL inbox of roles with the prefix."),
  })
  .meta({ id: "Quotas" });

const listSchema = pageSchema(quotasSchema).extend({
  calendars: usage("Calendars of the whole deployment."),
});

const example = {
  items: [
    {
      prefix: "billing:",
      schedules: { used: 41_200, allowed: 1_000_000 },
      firesPerMinute: { used: 730, allowed: 60_000 },
      payloadBytes: { used: 8_240_000, allowed: 10_000_000_000 },
      payloadBytesPerDay: { used: 310_000, allowed: 10_000_000_000 },
      tokens: { used: 12, allowed: 1_000 },
      holds: { used: 0, allowed: 10_000 },
      inboxRows: { used: 0, allowed: 100_000 },
    },
  ],
  calendars: { used: 4, allowed: 1_000 },
};

/** A prefix may end in a blank, unlike a key. */
const isPlace = (text: string) => textFault(text) === null;

export function quotaRoutes({ tokens }: Pick<Operations, "tokens">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/quotas",
      scope: "read",
      cost: 5,
      query: z.strictObject(pageQuery),
      doc: {
        summary: "List what prefixes use of their quotas",
        description:
          "Ordered by prefix: those that the token reaches, and those that limit it. A prefix is listed from its first token on that may write, or from its first edit on.",
        tag: "Tokens and audit",
        answers: { 200: { what: "A page of prefixes.", schema: listSchema, example } },
      },
      answer: async ({ query: { limit, cursor }, token: { prefix, team } }) => {
        const after = cursor === undefined ? undefined : readCursor(cursor, "quotas", isPlace);
        const { items, calendars, next } = await tokens.quotas({ prefix, team, after, limit });
        return {
          status: 200,
          body: {
            items,
            calendars,
            ...(next === undefined ? {} : { cursor: writeCursor("quotas", next) }),
          },
        };
      },
    }),
  ];
}
