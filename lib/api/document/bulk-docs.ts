import * as z from "zod";
import { deleteManyShape, patchManyShape, pauseManyShape, resumeManyShape } from "../request/bulk-shape.ts";
import { cursorSchema } from "../request/query.ts";
import type { AnswerDoc, RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { movedToSchema } from "../views/moved-to.ts";
import { examples } from "./openapi-examples.ts";

const doneSchema = z
  .strictObject({
    done: z.int().describe("Schedules that this call has changed."),
    unchanged: z.int().describe("Schedules that were already as requested, or no longer match."),
    failed: z
      .int()
      .describe(
        "Schedules left unchanged: refused, locked, or not writable. The same call without a cursor retries them.",
      ),
    failures: z
      .array(
        z.strictObject({
          key: z.string(),
          status: z.int().describe("The status that a request for this schedule alone would have had."),
          detail: z.string(),
        }),
      )
      .describe("The first 20 of `failed`, each with the reason."),
    movedTo: movedToSchema,
    cursor: cursorSchema.describe(
      "Present while schedules are left: the same call with this cursor continues. One call changes up to 10,000.",
    ),
  })
  .meta({ id: "BulkDone", description: "The result of a bulk action on schedules." });

const previewSchema = z
  .strictObject({
    dryRun: z.literal(true),
    count: z.int().describe("Matching schedules, up to 10,000."),
    more: z.boolean().describe("True where counting stopped at its limit."),
    samples: z
      .array(
        z.strictObject({
          key: z.string(),
          changes: z
            .strictObject({ before: z.array(instantText), after: z.array(instantText) })
            .optional()
            .describe("For a patch: the next occurrences now, and with the patch."),
          refused: z.string().optional().describe("For a patch: why it would be refused."),
        }),
      )
      .describe("The first matching schedules: 10, or 5 for a patch."),
    paused: z
      .strictObject({ count: z.int(), more: z.boolean() })
      .optional()
      .describe("For a pause and a resume: how many of them are paused, by any hold, up to 10,000."),
    movedTo: movedToSchema,
  })
  .meta({ id: "BulkPreview", description: "What a bulk action would change." });

const answered: AnswerDoc = {
  what: "The numbers of schedules; with `dryRun`, the number of matching ones and samples.",
  schema: z.union([doneSchema, previewSchema]),
  example: { done: 1_000, unchanged: 12, failed: 0, failures: [] },
};

const bounds =
  "The filter is that of `GET /v1/schedules`; an empty one needs `keys` or `all: true`. One call changes up to 10,000 schedules, in transactions of up to 200, and has one entry in the audit; the versions of the schedules show it. A schedule that fails does not stop the others.";

const tag = "Batch and commands";

export const bulkDocs = {
  pause: {
    summary: "Pause many schedules",
    operation: "pauseManySchedules",
    description: `Sets the hold of one owner on each matching schedule, as a pause of one does. Schedules created later are not held: for those, pause a group or a tag. ${bounds}`,
    tag,
    body: {
      schema: pauseManyShape,
      example: { filter: { prefix: "crm:" }, reason: "the CRM is migrated", until: "2030-01-01T00:00:00Z" },
    },
    answers: { 200: answered },
  },
  resume: {
    summary: "Resume many schedules",
    operation: "resumeManySchedules",
    description: `Releases the caller's hold on each matching schedule, or for admins the hold of the named owner. ${bounds}`,
    tag,
    body: { schema: resumeManyShape, example: { filter: { prefix: "crm:", state: "paused" } } },
    answers: { 200: answered },
  },
  delete: {
    summary: "Delete many schedules",
    operation: "deleteManySchedules",
    description: `Deletes each matching schedule; its waiting jobs are cancelled. ${bounds}`,
    tag,
    body: {
      schema: deleteManyShape,
      example: { filter: { prefix: "crm:", state: "ended" }, reason: "clean-up" },
    },
    answers: { 200: answered },
  },
  patch: {
    summary: "Change some of many schedules",
    operation: "patchManySchedules",
    description: `Applies one merge patch (RFC 7396) to each matching schedule. With \`dryRun\`, the first schedules show their next occurrences before and after. ${bounds}`,
    tag,
    body: {
      schema: patchManyShape,
      example: { filter: { prefix: "crm:" }, patch: { timezone: "Europe/Berlin" }, dryRun: true },
    },
    answers: {
      200: {
        ...answered,
        example: {
          dryRun: true,
          count: 1_000,
          more: false,
          samples: [
            {
              key: examples.listedSchedule.key,
              changes: { before: ["2026-12-01T09:00:00.000Z"], after: ["2026-12-01T08:00:00.000Z"] },
            },
          ],
        },
      },
    },
    problems: [422],
  },
} satisfies Record<string, RouteDoc>;
