import type { Operations } from "../operations/operations.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import { problemsAnswer, problemsExample, problemsView } from "../views/problem-shape.ts";

/** The first question of an engineer on call. */
export function problemRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/problems",
      scope: "read",
      query: noQuery,
      doc: {
        summary: "Read whether jobs run on time, and what needs attention",
        description:
          "The worst problem comes first. Each has its time, count, a sample, and the request that lists what was counted. Counts stop at a limit, so the request is as fast with millions of schedules. A token with a prefix gets the verdict and the problems of its own schedules.",
        tag: "Insight",
        answers: {
          200: { what: "The verdict and the problems", schema: problemsAnswer, example: problemsExample },
        },
      },
      kind: "count",
      cost: 5,
      answer: async ({ token }) => ({
        status: 200,
        body: problemsView(await operations.readProblems(token.prefix)),
      }),
    }),
  ];
}
