import * as z from "zod";
import { pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { scheduleChange } from "../views/explanation-view.ts";
import { instantText } from "../views/instant-text.ts";
import { editedSchema } from "../views/schedule-view.ts";
import { specFields, unreadableShape } from "../views/spec-view.ts";
import { examples } from "./openapi-examples.ts";
import { changed, created } from "./schedule-docs.ts";

const changeSchema = z.strictObject({
  path: z.string(),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
});

const versionSchema = z
  .strictObject({
    version: z.int(),
    change: scheduleChange,
    at: instantText,
    by: z.string(),
    spec: z
      .strictObject(specFields)
      .optional()
      .describe(
        "The schedule's fields without the payload; absent where the version changed only the state.",
      ),
    unreadable: unreadableShape,
    changes: z
      .array(changeSchema)
      .describe(
        "The fields that differ from the version before; without values that are too large or secret.",
      ),
    detail: z
      .unknown()
      .describe(
        "Further details, such as the owner and the reason of a pause, or the version that was restored. `ended` marks a hold that ended by itself: it has the version that was current then.",
      ),
  })
  .meta({ id: "Version", description: "One version of a schedule: its author, its time, and its changes." });

export const versionsDoc: RouteDoc = {
  summary: "List a schedule's versions",
  description:
    "Newest first, also of a deleted key: of the schedule that had it last. The end of a hold stands beside the version that was current then, and does not count towards `limit`.",
  tag: "Schedules",
  answers: {
    200: {
      what: "A page of versions.",
      schema: pageSchema(versionSchema),
      example: {
        items: [
          {
            version: 2,
            change: "paused",
            at: "2026-12-01T08:00:00.000Z",
            by: "shop",
            changes: [],
            detail: { owner: "shop", reason: "under review", until: null },
          },
        ],
        cursor: examples.cursor,
      },
    },
  },
  problems: [404],
};

const triedSchema = z
  .strictObject({
    dryRun: z.literal(true),
    key: z.string(),
    version: z.int().nullable().describe("The version of the schedule now; null if it is deleted."),
    fields: z
      .array(changeSchema)
      .describe(
        "The fields that would change; without values that are too large or secret. Of a deleted schedule all fields, under the empty path.",
      ),
    changes: z
      .strictObject({ before: z.array(instantText), after: z.array(instantText) })
      .describe("The next occurrences now, and with the restored version."),
  })
  .meta({ id: "RestorePreview", description: "What a restore would change." });

export const restoreDoc: RouteDoc = {
  summary: "Restore an old version",
  operation: "restoreVersion",
  description:
    "Saves the old version's fields as the newest version; holds are unchanged. A deleted schedule is made again with them, without its holds, and its runs are counted from zero; `If-None-Match: *` restores only a deleted one. With `dryRun` nothing is changed, and the answer shows what would be.",
  tag: "Schedules",
  headers: ["if-match", "if-none-match"],
  answers: {
    201: { ...created, what: "A deleted schedule was made again." },
    200: {
      ...changed,
      what: "The schedule after the edit; with `dryRun`, what would change.",
      schema: z.union([editedSchema, triedSchema]),
    },
  },
  problems: [404, 412, 422],
};
