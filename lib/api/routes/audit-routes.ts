import * as z from "zod";
import { auditPlaceText, readAuditPlace } from "../../audit/audit-place.ts";
import type { AuditEntry } from "../../audit/read-audit.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { examples } from "../document/openapi-examples.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { pageQuery, pageSchema } from "../request/query.ts";
import { narrowed } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { instantText } from "../views/instant-text.ts";

const auditQuery = z.strictObject({
  subject: storableText({ max: 600 })
    .optional()
    .describe(
      "What was changed: a schedule's key, the name of a group, a tag, a calendar, a token or a target.",
    ),
  prefix: storableText({ max: 255 })
    .optional()
    .describe("Schedules whose keys begin with it; and holds and tokens that concern such keys alone."),
  actor: storableText({ max: 300 }).optional().describe("The name of the token, or of what else it was."),
  action: storableText({ max: 100 }).optional().describe("Such as `schedule.replaced` or `token.created`."),
  from: instantShape.optional(),
  to: instantShape.optional().describe("Up to before this instant."),
  ...pageQuery,
});

const entrySchema = z
  .strictObject({
    id: z.string(),
    at: instantText,
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    version: z.int().nullable().describe("Of the schedule or the calendar, after the change."),
    prefix: z
      .string()
      .nullable()
      .describe(
        "Of what is not one schedule: the keys that are concerned begin with it, all where it is empty; null for schedules, and for what everybody shares.",
      ),
    origin: z
      .strictObject({
        via: z.enum(["api", "queue", "sql", "handler"]),
        token: z.string().optional(),
        request: z.string().optional(),
        ip: z.string().optional(),
        agent: z.string().optional(),
        at: instantText.optional().describe("When it was called, in SQL: it was applied later."),
      })
      .nullable()
      .describe("From where it was asked for; null for what Carillon does by itself."),
    changes: z
      .array(
        z.strictObject({ path: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }),
      )
      .describe(
        "Of a schedule, what differs: with an empty path the whole of one that was made or deleted. Without values where they are too large or too secret.",
      ),
    detail: z
      .unknown()
      .describe("What else is known; of calendars, limits, holds and tokens also what they were."),
  })
  .meta({ id: "AuditEntry", description: "One thing that was done." });

const example = {
  id: "812",
  at: "2026-12-01T09:00:00.000Z",
  actor: "shop",
  action: "schedule.patched",
  subject: examples.schedule.key,
  version: 2,
  prefix: null,
  origin: {
    via: "api",
    token: "5f0c7a54-6f0e-4a57-9b4a-0d0c3c0f7a11",
    request: "c1f0d7a2-58b1-4a0e-9f0b-0a4f6d2f9f11",
    ip: "203.0.113.7",
    agent: "curl/8.9.1",
  },
  changes: [{ path: "when", before: "every 1h", after: "every 5m" }],
  detail: null,
};

export function auditRoutes(operations: Pick<Operations, "readAudit">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/audit",
      scope: "admin",
      query: auditQuery,
      doc: {
        summary: "Read who did what",
        description:
          "Newest first. A page may be short of its limit and still have a cursor. A token with a prefix sees what concerns its keys alone.",
        tag: "Tokens and audit",
        answers: {
          200: { what: "A page of entries.", schema: pageSchema(entrySchema), example: { items: [example] } },
        },
      },
      answer: async ({ query: { limit, cursor, ...asked }, token }) => {
        const isPlace = (text: string) => readAuditPlace(text) !== null;
        const before =
          cursor === undefined
            ? undefined
            : (readAuditPlace(readCursor(cursor, "audit", isPlace)) ?? undefined);
        const within = narrowed(token, asked.prefix);
        if (within === null) return { status: 200, body: { items: [] } };
        const { items, next } = await operations.readAudit({
          filter: { ...asked, ...within },
          limit,
          before,
        });
        return {
          status: 200,
          body: {
            items: items.map(entryView),
            ...(next === undefined ? {} : { cursor: writeCursor("audit", auditPlaceText(next)) }),
          },
        };
      },
    }),
  ];
}

function entryView({ id, at, actor, action, subject, version, prefix, origin, changes, detail }: AuditEntry) {
  return { id, at, actor, action, subject, version, prefix, origin, changes, detail };
}
