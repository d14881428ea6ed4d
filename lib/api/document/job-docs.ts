import * as z from "zod";
import { cancelManyShape, jobRequestShape, retryManyShape } from "../request/job-filter.ts";
import { cursorSchema, pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { jobListSchema, jobSchema } from "../views/job-view.ts";
import { examples } from "./openapi-examples.ts";

const tag = "Jobs";

export const jobPageSchema = pageSchema(jobListSchema);

const page = {
  what: "A page of jobs.",
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
    "Matching jobs left unchanged because their row is locked or cannot be written. The log names them (`job.not-retried`, `job.not-cancelled`); the same call without a cursor retries them.",
  );

const entry = z
  .string()
  .nullable()
  .describe(
    "The entry of the audit that this call has written; null if it changed no job. `GET /v1/jobs:states` and `GET /v1/jobs` take it, and answer what became of the jobs.",
  );

const retriedSchema = z.strictObject({
  done: z.int().describe("Jobs that are retried."),
  leftOut: z
    .int()
    .describe(
      "Matching jobs that are not retried: their schedule is deleted, or another call changed them first.",
    ),
  failed,
  entry,
  cursor: cursorSchema,
});

const cancelledSchema = z.strictObject({
  done: z.int().describe("Jobs that are cancelled."),
  running: z.int().describe("Jobs of `done` that are running; their workers are notified to stop."),
  failed,
  entry,
  cursor: cursorSchema,
});

const dryRunAnswer = {
  what: "With `dryRun`: the jobs that a call without it would act on. Nothing is changed.",
  schema: z.strictObject({
    dryRun: z.literal(true),
    asOf: instantText.describe(
      "The time of the count. A retry of dead jobs with this as `to` leaves out those that have died since.",
    ),
    count: z.int().describe("Matching jobs, as far as they were counted."),
    more: z
      .boolean()
      .describe(
        "There may be more. Counted are the newest 20,000 dead jobs, 5,000 cancelled jobs, or about 10,000 open jobs.",
      ),
    samples: z.array(jobListSchema).describe("Up to five of them."),
  }),
  example: {
    dryRun: true,
    asOf: "2026-12-01T09:00:00.000Z",
    count: 12,
    more: false,
    samples: [examples.listedJob],
  },
};

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
      "Without payloads, newest occurrence first. With `state=dead`, the jobs that died last come first, and `from` and `to` limit when they died. A page may be short or empty and still have a `cursor`, because each page scans a limited number of jobs. `key` cannot be combined with `prefix`, `group`, `tag` or `target`, except for dead jobs. A `key` also finds jobs of deleted schedules that had this key, after those of the current schedule. Enqueued jobs that no tick has made yet are included where one of these five filters is given, for up to 5,000 schedules.",
    tag,
    answers: { 200: page },
    problems: [404, 422],
  },
  get: {
    summary: "Read a job",
    description: "With its payload and its attempts.",
    tag,
    answers: { 200: { what: "The job.", schema: jobSchema, example: examples.job } },
    problems: [404],
  },
  cancel: {
    summary: "Cancel a job",
    tag,
    body: requestBody,
    answers: {
      200: {
        what: "The job is cancelled.",
        schema: jobSchema,
        example: { ...examples.job, state: "cancelled" },
      },
      202: {
        what: "The job is running; its worker is notified to stop.",
        schema: jobSchema,
        example: { ...examples.job, state: "running", cancelling: true, finishedAt: null, durationMs: null },
      },
    },
    problems: [404, 409],
  },
  retry: {
    summary: "Retry a job",
    description: "The job must be dead or cancelled; 409 in any other state.",
    tag,
    body: requestBody,
    answers: { 202: { what: "The job runs again.", schema: jobSchema, example: examples.waitingJob } },
    problems: [404, 409],
  },
  retryMany: {
    summary: "Retry many jobs",
    operation: "retryJobs",
    description:
      "Retries dead jobs in the order of their death, or the cancelled jobs of a `key`. Each call is one entry of the audit, with filter, reason and count. With `dryRun` it counts the jobs and changes nothing.",
    tag,
    body: {
      schema: retryManyShape,
      example: { filter: { state: "dead", target: "queue/orders" }, limit: 1_000 },
    },
    answers: {
      200: dryRunAnswer,
      202: {
        what: "The numbers of jobs retried and left out.",
        schema: retriedSchema,
        example: { done: 12, leftOut: 0, failed: 0, entry: "812" },
      },
    },
    problems: [422],
  },
  cancelMany: {
    summary: "Cancel many jobs",
    operation: "cancelJobs",
    description:
      "Cancels jobs that are waiting, retrying or running; enqueued jobs also before they have a row. An answer with a `cursor` has more to do, even where `done` is 0: send the same body with the cursor. Each call is one entry of the audit. With `dryRun` it counts the jobs and changes nothing.",
    tag,
    body: { schema: cancelManyShape, example: { filter: { group: "order:1234" } } },
    answers: {
      200: dryRunAnswer,
      202: {
        what: "The numbers of jobs cancelled and stopped.",
        schema: cancelledSchema,
        example: { done: 12, running: 1, failed: 0, entry: "813" },
      },
    },
    problems: [],
  },
} satisfies Record<string, RouteDoc>;
