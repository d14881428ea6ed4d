import * as z from "zod";
import { cursorSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { examples } from "./openapi-examples.ts";

const updateSchema = z.strictObject({
  version: z.string(),
  from: z.string().nullable().describe("The release that was in force before."),
  startedAt: instantText,
  finishedAt: instantText.nullable().describe("When all schedules had been checked."),
  zones: z.array(z.string()),
  checked: z.int(),
  moved: z.int(),
});

const zoneDataSchema = z.strictObject({
  version: z.string().nullable().describe("The release in force; null until the first tick."),
  runtime: z.string().nullable().describe("The release of the runtime that answered."),
  updates: z.array(updateSchema).describe("Newest first."),
});

const moveSchema = z.strictObject({
  key: z.string(),
  timezone: z.string(),
  before: z.array(instantText).describe("The coming occurrences before the update."),
  after: z.array(instantText).describe("The coming occurrences after the update."),
});

const tag = "Time";

export const zoneDocs = {
  read: {
    summary: "Read which time zone data is in force",
    tag,
    answers: {
      200: {
        what: "The release that the plan uses, and the updates.",
        schema: zoneDataSchema,
        example: {
          version: "2026b",
          runtime: "2026b",
          updates: [
            {
              version: "2026b",
              from: "2026a",
              startedAt: "2026-12-01T06:00:00.000Z",
              finishedAt: "2026-12-01T06:01:00.000Z",
              zones: ["Europe/Berlin"],
              checked: 1200,
              moved: 3,
            },
          ],
        },
      },
    },
  },
  moves: {
    summary: "List the schedules that a time zone data update moved",
    operation: "listZoneDataMoves",
    tag,
    parameters: {
      version: { what: "A release that is or was in force.", schema: z.string().min(1), example: "2026b" },
    },
    answers: {
      200: {
        what: "A page of moved schedules, newest first.",
        schema: z.strictObject({
          items: z.array(moveSchema),
          kept: z.int().describe("How many moves are kept, newest first, over all updates."),
          cursor: cursorSchema,
        }),
        example: {
          items: [
            {
              key: "report",
              timezone: "Europe/Berlin",
              before: ["2026-12-01T08:00:00.000Z"],
              after: ["2026-12-01T09:00:00.000Z"],
            },
          ],
          kept: 10_000,
          cursor: examples.cursor,
        },
      },
    },
    problems: [404],
  },
} satisfies Record<string, RouteDoc>;
