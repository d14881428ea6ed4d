import * as z from "zod";
import { auditPlaceText, readAuditPlace } from "../../audit/audit-place.ts";
import type { AuditEntry } from "../../audit/read-audit.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { examples } from "../document/openapi-examples.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { isRange, noRange, pageQuery, pageSchema } from "../request/query.ts";
import { narrowed } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { instantText } from "../views/instant-text.ts";

const auditQuery = z
  .strictObject({
    subject: storableText({ max: 600 })
      .optional()
      .describe(
        "The subject of the change: a schedule's key, the name of a group, a tag, a calendar, a token or a target.",
      ),
    prefix: storableText({ max: 255 })
      .optional()
      .describe(
        "Entries of schedules whose keys begin with it, and of holds and tokens that cover such keys only.",
      ),
    actor: storableText({ max: 300 })
      .optional()
      .describe("The name of the token, or of another actor such as `carillon`."),
    action: storableText({ max: 100 }).optional().describe("Such as `schedule.replaced` or `token.created`."),
    from: instantShape.optional(),
    to: instantShape.optional().describe("Entries before this instant."),
    ...pageQuery,
  })
  .refine(isRange, noRange);

const entrySchema = z
  .strictObject({
    id: z.string(),
    at: instantText,
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    version: z.int().nullable().describe("The version of the schedule or the calendar after the change."),
    prefix: z
      .string()
      .nullable()
      .describe(
        "For subjects that cover several schedules: the prefix of their keys, empty for all keys. Null for a schedule, and for subjects that all schedules share.",
      ),
    origin: z
      .strictObject({
        via: z.enum(["api", "queue", "sql", "handler"]),
        token: z.string().optional().describe("The id of the token."),
        prefix: z
          .string()
          .optional()
          .describe("The prefix of the token; tokens of other prefixes may have its name."),
        request: z.string().optional(),
        ip: z.string().optional(),
        agent: z.string().optional(),
        at: instantText.optional().describe("When SQL called the function; the command was applied later."),
      })
      .nullable()
      .describe("The origin of the request; null for changes that Carillon makes by itself."),
    changes: z
      .array(
        z.strictObject({ path: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }),
      )
      .describe(
        "For a schedule, the fields that differ; an empty path stands for the whole schedule where it was created or deleted. Without values that are too large or secret.",
      ),
    detail: z
      .unknown()
      .describe("Further details; for calendars, limits, holds and tokens also their state before."),
  })
  .meta({ id: "AuditEntry", description: "One recorded change." });

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
        summary: "Read the audit",
        description:
          "Newest first. A page may be shorter than `limit` and still have a cursor. A token with a prefix sees only entries of its keys.",
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
