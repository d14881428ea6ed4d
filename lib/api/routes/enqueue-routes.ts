import { v7 as uuidv7 } from "uuid";
import { jobShape, readJob } from "../../command/job-shape.ts";
import { Refusal } from "../../refusal.ts";
import { examples } from "../document/openapi-examples.ts";
import type { Operations } from "../operations/operations.ts";
import { refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { jobSchema, jobView } from "../views/job-view.ts";

const location = { location: "The path under which the job is read." };

const doc: RouteDoc = {
  summary: "Enqueue a job",
  operation: "enqueueJob",
  description:
    "One run without a lasting schedule: now, or `at` an instant or after a time such as `in 5m`. Of one `key` one job waits at a time: another one replaces it, unless `ifExists` says `keep` or `refuse`; one that runs goes on, and the other follows. For the instant of one that has started or is settled, another one is a 409. Without a key one is made.",
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
      what: "The job that stands: it is as it was asked for, or is kept.",
      schema: jobSchema,
      example: examples.waitingJob,
      headers: location,
    },
    202: {
      what: "The job, which runs when its time has come.",
      schema: jobSchema,
      example: examples.waitingJob,
      headers: location,
    },
  },
  problems: [409, 413, 415, 422],
};

/** Jobs without a lasting schedule. */
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
        const params = readJob(body(), { newKey });
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

/** A job says `at` where its schedule has a `when`. */
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
    );
  }
}
