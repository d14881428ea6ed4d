import * as z from "zod";
import { pauseShape, resumeShape } from "../../command/schedule-input.ts";
import { countedMax, groupsLookedMax } from "../../history/groups/list-groups.ts";
import type { Label } from "../../schedule/shared-holds.ts";
import { cursorSchema, pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { jobListSchema } from "../views/job-view.ts";
import { scheduleListSchema } from "../views/schedule-view.ts";
import { examples } from "./openapi-examples.ts";

const sharedHoldSchema = z
  .strictObject({
    owner: z.string(),
    prefix: z
      .string()
      .nullable()
      .describe(
        "The prefix of the token that set it: the hold covers members whose keys begin with it; null for all. Only a token that reaches as many keys may release it.",
      ),
    reason: z.string().nullable(),
    until: instantText.nullable(),
    since: instantText,
    progress: z
      .enum(["setting", "set", "releasing"])
      .describe(
        "Members are held or released one after the other; `setting` or `releasing` until all are done.",
      ),
    members: z
      .int()
      .nullable()
      .describe(
        "Schedules that the hold covers, counted up to 1,000; of a larger hold those that it was put on. While it is `setting` or `releasing`, those that it was put on, or taken off, so far. Null where the hold covers more keys than the token reaches.",
      ),
    releasable: z.boolean().describe("Whether the token of the request may release it."),
  })
  .meta({ id: "SharedHold", description: "A hold of a group or a tag." });

const heldSchema = z.strictObject({
  done: z.int().describe("Members that this call has changed."),
  hold: sharedHoldSchema.nullable(),
  cursor: cursorSchema.describe(
    "Present while members are left: the same call with this cursor continues at once. The ticks continue anyway.",
  ),
});

const cancelledSchema = z.strictObject({
  done: z.int().describe("Schedules that this call has deleted."),
  running: z.int().describe("Running jobs of these schedules; their workers are notified to stop."),
  failed: z
    .int()
    .describe(
      "Members left unchanged because their row is locked or cannot be written. The log names them (`schedule.not-deleted`); the same call without a cursor retries them.",
    ),
  cursor: cursorSchema,
});

const sharedHold = { ...examples.hold, prefix: null, progress: "set", members: 2, releasable: true };
const tag = "Groups and tags";

const listedGroupSchema = z
  .strictObject({
    group: z.string(),
    schedules: z.int().describe(`Its schedules, counted up to ${countedMax}.`),
    moreSchedules: z.boolean().describe(`Whether it has more than ${countedMax} schedules.`),
    sample: z.string().describe("The key of the first of these schedules."),
  })
  .meta({ id: "ListedGroup", description: "A group in the list of groups." });

export const groupListDoc: RouteDoc = {
  summary: "List the groups",
  description: `The groups that have a schedule, ordered by name. A group that has only a hold is in the list of holds. A token with a prefix sees the groups that have a schedule under it, and counts only these schedules. A page looks at ${groupsLookedMax.toLocaleString("en-GB")} groups at most, so it may be short and still have a cursor.`,
  tag,
  answers: {
    200: {
      what: "A page of groups.",
      schema: pageSchema(listedGroupSchema),
      example: {
        items: [{ group: "order:1234", schedules: 2, moreSchedules: false, sample: "order:1234:unpaid" }],
        cursor: examples.cursor,
      },
    },
  },
};

/** Documentation of the routes of groups; tags have the same routes. */
export function labelDocs(
  scope: Label["scope"],
  cancelBody: z.ZodType,
): Record<"get" | "pause" | "resume" | "cancel", RouteDoc> {
  const openJob = { ...examples.listedJob, state: "waiting", error: null, waitsFor: "hold" };
  const labelSchema = z.strictObject({
    [scope]: z.string(),
    holds: z.array(sharedHoldSchema),
    schedules: z.array(scheduleListSchema).describe("A page of its schedules."),
    jobs: z.array(jobListSchema).describe("The unsettled jobs of these schedules, earliest due first."),
    moreJobs: z.boolean(),
    cursor: cursorSchema,
  });
  const held = {
    what: "The number of members changed, and the hold.",
    schema: heldSchema,
    example: { done: 2, hold: sharedHold },
  };
  return {
    get: {
      summary: `Read a ${scope}`,
      description: `Its holds, its schedules, and their unsettled jobs. 404 where it has neither a schedule nor a hold among the keys that the token reaches.`,
      tag,
      answers: {
        200: {
          what: "Its holds, schedules and unsettled jobs.",
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
      description:
        "Holds all of its schedules, including schedules added later. A team has at most 50 holds on it for the same keys, and 1,000 in all (409).",
      tag,
      body: { schema: pauseShape, optional: true, example: { reason: "under review" } },
      answers: { 200: held },
      problems: [409],
    },
    resume: {
      summary: `Resume a ${scope}`,
      description:
        "Releases one owner's hold on it; every other hold stays. A hold of a caller that reaches more keys cannot be released (403).",
      tag,
      body: { schema: resumeShape, optional: true, example: { owner: "shop" } },
      answers: { 200: { ...held, example: { done: 2, hold: null } } },
      problems: [409],
    },
    cancel: {
      summary: `Cancel a ${scope}`,
      description: "Deletes all of its schedules and cancels their waiting jobs.",
      tag,
      body: { schema: cancelBody, optional: true, example: { reason: "the order was cancelled" } },
      answers: {
        200: {
          what: "The numbers of deleted schedules and stopped jobs.",
          schema: cancelledSchema,
          example: { done: 2, running: 1, failed: 0 },
        },
      },
    },
  };
}
