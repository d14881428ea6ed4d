import * as z from "zod";
import { cancelManyShape, jobRequestShape, retryManyShape } from "../request/job-filter.ts";
import { cursorSchema, pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { jobListSchema, jobSchema } from "../views/job-view.ts";
import { examples } from "./openapi-examples.ts";

const tag = "Jobs";

export const jobPageSchema = pageSchema(jobListSchema);

const page = {
  what: "A page of them.",
  schema: jobPageSchema,
  example: { items: [examples.listedJob], cursor: examples.cursor },
};

const requestBody = {
  schema: jobRequestShape,
  optional: true,
  example: { reason: "the queue is there now" },
};

const failed = z
  .int()
  .describe(
    "Found, and left as they are: Carillon failed on each alone, since its row is locked or cannot be written. The log names them (`job.not-retried`, `job.not-cancelled`); the same call without a cursor tries them again.",
  );

const retriedSchema = z.strictObject({
  done: z.int().describe("Jobs that are tried again."),
  leftOut: z
    .int()
    .describe("Found and not tried again: their schedules are deleted, or somebody was faster."),
  failed,
  cursor: cursorSchema,
});

const cancelledSchema = z.strictObject({
  done: z.int().describe("Jobs that are cancelled."),
  running: z.int().describe("Of them those under way: whoever works them has been told to stop."),
  failed,
  cursor: cursorSchema,
});

export const jobDocs = {
  ofSchedule: {
    summary: "List a schedule's jobs",
    description: "Newest first, without payloads.",
    tag,
    answers: { 200: page },
    problems: [404],
  },
  search: {
    summary: "Search jobs",
    description:
      "Without payloads, the newest occurrence first; with `state=dead` what died last, `from` and `to` being when. A page may be short, even empty, while it has a `cursor`: each looks at so many jobs at most. A `key` takes none of `prefix`, `group`, `tag` and `target` beside it, but for dead jobs, and finds also those of deleted schedules that had it, behind those of the one that has it. Enqueued jobs that have no row yet are among the others where one of these five is named, of up to 5,000 schedules.",
    tag,
    answers: { 200: page },
    problems: [404, 422],
  },
  get: {
    summary: "Read a job",
    description: "With its payload and its attempts.",
    tag,
    answers: { 200: { what: "As it is now.", schema: jobSchema, example: examples.job } },
    problems: [404],
  },
  cancel: {
    summary: "Cancel a job",
    tag,
    body: requestBody,
    answers: {
      200: { what: "It is cancelled.", schema: jobSchema, example: { ...examples.job, state: "cancelled" } },
      202: {
        what: "It runs, and whoever works it has been told to stop.",
        schema: jobSchema,
        example: { ...examples.job, state: "running", cancelling: true, finishedAt: null, durationMs: null },
      },
    },
    problems: [404, 409],
  },
  retry: {
    summary: "Retry a job",
    description: "One that is dead or cancelled; 409 from any other state.",
    tag,
    body: requestBody,
    answers: { 202: { what: "It runs again.", schema: jobSchema, example: examples.waitingJob } },
    problems: [404, 409],
  },
  retryMany: {
    summary: "Retry many jobs",
    operation: "retryJobs",
    tag,
    body: {
      schema: retryManyShape,
      example: { filter: { state: "dead", target: "queue/orders" }, limit: 1_000 },
    },
    answers: {
      202: { what: "What was done.", schema: retriedSchema, example: { done: 12, leftOut: 0, failed: 0 } },
    },
    problems: [422],
  },
  cancelMany: {
    summary: "Cancel many jobs",
    operation: "cancelJobs",
    description:
      "What waits, is to be tried again or runs; enqueued jobs also before they have a row. With a `cursor` there is more, also where `done` is 0: the same body with it goes on.",
    tag,
    body: { schema: cancelManyShape, example: { filter: { group: "order:1234" } } },
    answers: {
      202: { what: "What was done.", schema: cancelledSchema, example: { done: 12, running: 1, failed: 0 } },
    },
    problems: [],
  },
} satisfies Record<string, RouteDoc>;
