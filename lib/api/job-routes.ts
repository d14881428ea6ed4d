import { z } from "zod";
import { Refusal } from "../refusal.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { jobListView, jobView } from "./job-view.ts";
import type { Operations } from "./operations.ts";
import { pageQuery } from "./query.ts";
import { noQuery, type Route, route } from "./route.ts";
import { readKey } from "./schedule-input.ts";

/** Job ids are written by Carillon in plain characters; what is no such text is nobody's id. */
const isJobId = (id: string) => /^[\x21-\x7e]{1,200}$/.test(id);

export function jobRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules/{key}/jobs",
      scope: "read",
      query: z.strictObject(pageQuery),
      answer: async ({ parameter, query: { cursor, limit } }) => {
        const key = readKey(parameter("key"));
        const after = cursor === undefined ? undefined : readCursor(cursor, "jobs", isJobId);
        const { items, next } = await operations.jobsOfSchedule({ key, limit, after });
        return {
          status: 200,
          body: {
            items: items.map(jobListView),
            ...(next === undefined ? {} : { cursor: writeCursor("jobs", next) }),
          },
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/jobs/{id}",
      scope: "read",
      query: noQuery,
      answer: async ({ parameter }) => {
        const id = parameter("id");
        const job = isJobId(id) ? await operations.readJob(id) : null;
        if (job === null)
          throw new Refusal("missing", `There is no job ${JSON.stringify(id.slice(0, 200))}.`);
        return { status: 200, body: jobView(job) };
      },
    }),
  ];
}
