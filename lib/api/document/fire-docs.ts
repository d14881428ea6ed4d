import * as z from "zod";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { jobSchema } from "../views/job-view.ts";
import { examples } from "./openapi-examples.ts";

const backfilledSchema = z.strictObject({
  accepted: z.int().describe("Occurrences that get a job."),
  existing: z.int().describe("Occurrences that have had their run, or wait for it already."),
  from: instantText,
  to: instantText.describe("Up to where occurrences were looked at."),
  more: z.boolean(),
  next: instantText.optional().describe("From where to go on, where there are more than the limit."),
});

export function fireDoc(body: z.ZodType): RouteDoc {
  return {
    summary: "Fire a schedule now",
    description:
      "A job beside the cadence, also while the schedule is paused. Without a `payload` it has the schedule's own; null is a payload.",
    tag: "Jobs",
    body: { schema: body, optional: true, example: { payload: { orderId: 1234 } } },
    answers: {
      202: {
        what: "The job, which runs at once.",
        schema: jobSchema,
        example: examples.waitingJob,
        headers: { location: "The path under which the job is read." },
      },
    },
    problems: [404, 422],
  };
}

export function backfillDoc(body: z.ZodType): RouteDoc {
  return {
    summary: "Backfill a schedule",
    description:
      "Jobs for past occurrences that never ran, oldest first; never a second one for the same occurrence.",
    tag: "Jobs",
    body: {
      schema: body,
      example: { from: "2026-12-01T00:00:00Z", to: "2026-12-02T00:00:00Z", limit: 100 },
    },
    answers: {
      202: {
        what: "So many get a job.",
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
