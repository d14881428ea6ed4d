import * as z from "zod";
import { pauseShape, resumeShape } from "../../command/schedule-input.ts";
import type { Label } from "../../schedule/shared-holds.ts";
import { cursorSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { openJobSchema } from "../views/job-view.ts";
import { scheduleListSchema } from "../views/schedule-view.ts";
import { examples } from "./openapi-examples.ts";

const sharedHoldSchema = z
  .strictObject({
    owner: z.string(),
    prefix: z
      .string()
      .nullable()
      .describe(
        "Of the token with which it was set: it binds members whose keys begin with this; null for all.",
      ),
    reason: z.string().nullable(),
    until: instantText.nullable(),
    since: instantText,
    progress: z
      .enum(["setting", "set", "releasing"])
      .describe("Members follow one after the other: until all have, it is being set or released."),
    members: z
      .int()
      .nullable()
      .describe(
        "Members that have followed so far. Null where it binds more keys than the token reaches, which sees it where it binds one of these.",
      ),
  })
  .meta({ id: "SharedHold", description: "A hold of a group or a tag." });

const heldSchema = z.strictObject({
  done: z.int().describe("Members that this call has changed."),
  hold: sharedHoldSchema.nullable(),
  cursor: cursorSchema.describe(
    "Members are left: the same call with it goes on at once; the ticks do so anyway.",
  ),
});

const cancelledSchema = z.strictObject({
  done: z.int().describe("Schedules that this call has deleted."),
  running: z.int().describe("Of their jobs those that run: whoever works them has been told to stop."),
  failed: z
    .int()
    .describe(
      "Members that stay as they are: Carillon failed on each alone, since its row is locked or cannot be written. The log names them (`schedule.not-deleted`); the same call without a cursor tries them again.",
    ),
  cursor: cursorSchema,
});

const sharedHold = { ...examples.hold, prefix: null, progress: "set", members: 2 };
const tag = "Groups and tags";

/** For a group, and for a tag in the same way. */
export function labelDocs(
  scope: Label["scope"],
  cancelBody: z.ZodType,
): Record<"get" | "pause" | "resume" | "cancel", RouteDoc> {
  const openJob = { ...examples.listedJob, state: "waiting", error: null, waitsFor: "hold" };
  const labelSchema = z.strictObject({
    [scope]: z.string(),
    holds: z.array(sharedHoldSchema),
    schedules: z.array(scheduleListSchema).describe("A page of them."),
    jobs: z.array(openJobSchema).describe("The open jobs of these, what is due first first."),
    moreJobs: z.boolean(),
    cursor: cursorSchema,
  });
  const held = { what: "What was done.", schema: heldSchema, example: { done: 2, hold: sharedHold } };
  return {
    get: {
      summary: `Read a ${scope}`,
      description: `The holds that stand on it, its schedules, and their open jobs. 404 where there is neither a schedule nor a hold of it among the keys that the token reaches.`,
      tag,
      answers: {
        200: {
          what: "What there is of it.",
          schema: labelSchema,
          example: {
            [scope]: "order:1234",
            holds: [sharedHold],
            schedules: [examples.listedSchedule],
            jobs: [openJob],
            moreJobs: false,
          },
        },
      },
      problems: [404],
    },
    pause: {
      summary: `Pause a ${scope}`,
      description: "Holds all of its schedules, and those that come later.",
      tag,
      body: { schema: pauseShape, optional: true, example: { reason: "under review" } },
      answers: { 200: held },
      problems: [409],
    },
    resume: {
      summary: `Resume a ${scope}`,
      description: "Releases one owner's hold on it; every other hold stays.",
      tag,
      body: { schema: resumeShape, optional: true, example: { owner: "shop" } },
      answers: { 200: { ...held, example: { done: 2, hold: null } } },
      problems: [409],
    },
    cancel: {
      summary: `Cancel a ${scope}`,
      description: "Deletes all of its schedules, and cancels what waits of their jobs.",
      tag,
      body: { schema: cancelBody, optional: true, example: { reason: "the order was cancelled" } },
      answers: {
        200: { what: "What was done.", schema: cancelledSchema, example: { done: 2, running: 1, failed: 0 } },
      },
    },
  };
}
