import * as z from "zod";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { jobSchema } from "../views/job-view.ts";
import { examples } from "./openapi-examples.ts";

const backfilledSchema = z.strictObject({
  accepted: z.int().describe("Occurrences that get a job."),
  existing: z.int().describe("Occurrences that already have a job."),
  from: instantText,
  to: instantText.describe("The end of the range that was searched."),
  more: z.boolean(),
  next: instantText.optional().describe("The `from` of the next call, where there are more than `limit`."),
});

export function fireDoc(body: z.ZodType): RouteDoc {
  return {
    summary: "Fire a schedule now",
    description:
      "Makes a job beside the cadence, even while the schedule is paused. Without `payload` the job has the schedule's payload; `null` is a payload. A payload of its own counts in the quota `payloadBytesPerDay`.",
    tag: "Jobs",
    body: { schema: body, optional: true, example: { payload: { orderId: 1234 } } },
    answers: {
      202: {
        what: "The job, which runs at once.",
        schema: jobSchema,
        example: examples.waitingJob,
        headers: { location: "The path of the job." },
      },
    },
    problems: [404, 422],
  };
}

export function backfillDoc(body: z.ZodType): RouteDoc {
  return {
    summary: "Backfill a schedule",
    description:
      "Makes jobs for past occurrences that never ran, oldest first; never a second job for one occurrence.",
    tag: "Jobs",
    body: {
      schema: body,
      example: { from: "2026-12-01T00:00:00Z", to: "2026-12-02T00:00:00Z", limit: 100 },
    },
    answers: {
      202: {
        what: "How many occurrences get a job.",
        schema: backfilledSchema,
        example: {
          accepted: 3,
          existing: 1,
          from: "2026-12-01T00:00:00.000Z",
          to: "2026-12-02T00:00:00.000Z",
          more: false,
        },
      },
    },
    problems: [404, 422],
  };
}
