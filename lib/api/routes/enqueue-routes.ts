import { v7 as uuidv7 } from "uuid";
import { jobShape, readJob } from "../../command/job-shape.ts";
import { Refusal } from "../../refusal.ts";
import { examples } from "../document/openapi-examples.ts";
import type { Operations } from "../operations/operations.ts";
import { refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { jobSchema, jobView } from "../views/job-view.ts";

const location = { location: "The path of the job." };

const doc: RouteDoc = {
  summary: "Enqueue a job",
  operation: "enqueueJob",
  description:
    "Runs once without a lasting schedule: now, `at` an instant, or after a time such as `in 5m`. Each `key` has at most one waiting job: a new job replaces it, unless `ifExists` is `keep` or `refuse`. A running job continues, and the new job follows it. A new job for the instant of a started or settled job gets 409. Without `key`, Carillon makes one.",
  tag: "Jobs",
  body: {
    schema: jobShape,
    example: {
      target: { queue: "orders" },
      payload: { orderId: 1234 },
      at: "in 5m",
      key: "order:1234:remind",
    },
  },
  answers: {
    200: {
      what: "The existing job: it equals the request, or `ifExists` kept it.",
      schema: jobSchema,
      example: examples.waitingJob,
      headers: location,
    },
    202: {
      what: "The job, which runs at its time.",
      schema: jobSchema,
      example: examples.waitingJob,
      headers: location,
    },
  },
  problems: [409, 413, 415, 422],
};

export function enqueueRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/jobs",
      scope: "write",
      query: noQuery,
      doc,
      answer: async ({ body, token, caller }) => {
        const newKey = () => `${token.prefix ?? ""}job:${uuidv7()}`;
        const params = readJob(body(), { newKey, besides: operations.besides });
        refuseForeignKey(token, params.key);
        const { change, job } = await asJob(() => operations.enqueueJob({ ...params, caller }));
        return {
          status: change === "unchanged" ? 200 : 202,
          body: jobView(job),
          headers: { location: `/v1/jobs/${encodeURIComponent(job.id)}` },
        };
      },
    }),
  ];
}

/**
 * Rewrites the faults of the schedule that an enqueued job becomes: its `when` is the `at` that the
 * caller sent.
 */
async function asJob<Done>(enqueue: () => Promise<Done>): Promise<Done> {
  try {
    return await enqueue();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(
      error.kind,
      error.message.replace("`when`", "`at`"),
      error.faults.map(({ path, message }) =>
        path === "when"
          ? { path: "at", message: message.replace(/ \(at position \d+\)$/, "") }
          : { path, message },
      ),
      error.movedTo,
    );
  }
}
