import * as z from "zod";
import { storableText } from "../../schedule/shape/text.ts";
import type { Operations } from "../operations/operations.ts";
import { narrowedOrRefused } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { statsAnswer, statsExample } from "../views/stats-shape.ts";
import { prefixStatsView, statsView } from "../views/stats-view.ts";

/** Statistics over all schedules. */
export function statsRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/stats",
      scope: "read",
      query: z.strictObject({
        prefix: storableText({ max: 255 }).optional().describe("Keys that begin with this."),
      }),
      doc: {
        summary: "Read current counts and those of the last minutes, hour and day",
        description:
          "Counts are rolled up by the tick, so the request is as fast with millions of schedules. With a prefix, a bounded part of the ledger is read, and some parts of the answer are null. A token with a prefix gets the counts of its own keys.",
        tag: "Insight",
        answers: { 200: { what: "The counts", schema: statsAnswer, example: statsExample } },
      },
      kind: "count",
      cost: 10,
      answer: async ({ token, query }) => {
        const prefix = narrowedOrRefused(token, query.prefix);
        if (prefix === undefined) return { status: 200, body: statsView(await operations.readStats()) };
        return { status: 200, body: prefixStatsView(prefix, await operations.readPrefixStats(prefix)) };
      },
    }),
  ];
}
