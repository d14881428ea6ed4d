import * as z from "zod";
import { jobStates } from "../../job/read-job.ts";
import { cursorSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { examples } from "./openapi-examples.ts";

const filterSchema = z
  .strictObject({
    state: z.enum(["dead", "retrying"]),
    errorGroup: z.string().optional(),
    key: z.string().optional(),
    prefix: z.string().optional(),
    group: z.string().optional(),
    tag: z.string().optional(),
    target: z.string().optional(),
    reason: z.string().optional(),
    from: instantText.optional(),
    to: instantText.optional(),
  })
  .nullable()
  .describe(
    "What to pass to `GET /v1/jobs`, and as `filter` to `POST /v1/jobs:retry` (dead jobs) or `POST /v1/jobs:cancel` (retrying jobs), to act on this group. Null where no filter selects it.",
  );

const groupSchema = z.strictObject({
  errorGroup: z.string().nullable().describe("With `by=target,error`; else null."),
  target: z.string().nullable().describe("Null where the group has several, and where it is not known."),
  errorClass: z.string().nullable(),
  error: z
    .string()
    .nullable()
    .describe(
      "The normalised error, with `<id>`, `<n>`, `<path>` and the like for what differs from job to job.",
    ),
  reason: z.string().nullable().describe("With `by=reason`: why the jobs are dead."),
  count: z.int(),
  more: z.boolean().describe("There may be more jobs in the group than `count`: see `lookedFrom`."),
  firstAt: instantText.describe("The first of these deaths, or of these last failures of retrying jobs."),
  lastAt: instantText,
  schedules: z.int().describe("How many schedules these jobs belong to."),
  sample: z
    .strictObject({ id: z.string(), key: z.string().nullable(), error: z.string().nullable() })
    .describe("The last of these jobs, with its error as it is."),
  filter: filterSchema,
});

export const groupsSchema = z.strictObject({
  items: z.array(groupSchema),
  cursor: cursorSchema,
  looked: z
    .int()
    .describe(
      "Failed jobs that were looked at, 20,000 at most. With a filter by schedules, or a token with a prefix, those that match.",
    ),
  more: z.boolean().describe("There are more failed jobs than were looked at."),
  lookedFrom: instantText
    .nullable()
    .describe(
      "With `more`, for dead jobs: no death before this instant was looked at. Send it as `to` to go further back.",
    ),
});

export const jobGroupsDoc = {
  summary: "Group failed jobs by their errors",
  operation: "groupJobs",
  description:
    "Dead jobs, or jobs that wait for their next attempt, in groups with the same target and error (or as `by` says), the largest first. Errors are compared without ids, numbers, times, addresses, paths and quoted data. Each request looks at the newest 20,000 failed jobs that `from`, `to` and the filter allow: by time of death, and for retrying jobs by parcel. `prefix`, `tag` and `target` are tested on those jobs, except for a few schedules, which are searched one by one.",
  tag: "Jobs",
  answers: {
    200: {
      what: "A page of groups.",
      schema: groupsSchema,
      example: {
        items: [
          {
            errorGroup: examples.listedJob.errorGroup,
            target: "queue/orders",
            errorClass: "QueueDoesNotExist",
            error: "The queue orders does not exist.",
            reason: null,
            count: 12,
            more: false,
            firstAt: "2026-12-01T09:00:00.240Z",
            lastAt: "2026-12-01T09:12:00.250Z",
            schedules: 3,
            sample: {
              id: examples.listedJob.id,
              key: examples.listedJob.key,
              error: examples.listedJob.error,
            },
            filter: { state: "dead", errorGroup: examples.listedJob.errorGroup },
          },
        ],
        looked: 12,
        more: false,
        lookedFrom: null,
      },
    },
  },
} satisfies RouteDoc;

export const jobCountDoc = {
  summary: "Count jobs",
  description:
    "Counts the jobs that a search with the same filter finds: up to 10,000, and with `state=dead` or `entry` up to 20,000. Of the jobs of all schedules, the newest 50,000 are looked at; 20,000 with a tag or target alone, and where the filter matches more than 5,000 schedules. Jobs that wait, run or retry are found at once while at most 20,000 are open.",
  tag: "Jobs",
  answers: {
    200: {
      what: "The number of jobs, up to the counting limit.",
      schema: z.strictObject({
        count: z.int().min(0),
        more: z.boolean().describe("There may be more: counting stopped at its limit."),
      }),
      example: { count: 10_000, more: true },
    },
  },
  problems: [404, 422],
} satisfies RouteDoc;

export const jobStatesDoc = {
  summary: "Count the jobs of bulk actions by state",
  operation: "countJobStates",
  description:
    "What became of the jobs that calls of `jobs:retry` or `jobs:cancel` have changed: how many are in each state now. `GET /v1/jobs?entry=` lists them. A job that had no row when it was cancelled is not among them. A token with a prefix counts the jobs of its keys only.",
  tag: "Jobs",
  answers: {
    200: {
      what: "The number of jobs in each state.",
      schema: z.strictObject({
        count: z.int().describe("The jobs of these entries, as long as the ledger keeps them."),
        more: z.boolean().describe("There may be more: 20,000 are counted."),
        states: z.strictObject(Object.fromEntries(jobStates.map((state) => [state, z.int()]))),
      }),
      example: {
        count: 47,
        more: false,
        states: { waiting: 3, running: 0, retrying: 2, succeeded: 31, skipped: 0, dead: 11, cancelled: 0 },
      },
    },
  },
} satisfies RouteDoc;
