import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { jobListView, jobView } from "./job-view.ts";
import type { Operations } from "./operations.ts";
import { pageQuery } from "./query.ts";
import { noQuery, type Route, route } from "./route.ts";
import { readKey } from "./schedule-input.ts";

const isInstant = (place: string) => /^(0|-?[1-9]\d{0,14})$/.test(place);

export function jobRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules/{key}/jobs",
      scope: "read",
      query: z.strictObject(pageQuery),
      answer: async ({ parameter, query: { cursor, limit } }) => {
        const key = readKey(parameter("key"));
        const before = cursor === undefined ? undefined : Number(readCursor(cursor, "jobs", isInstant));
        const { items, next } = await operations.jobsOfSchedule({ key, limit, before });
        return {
          status: 200,
          body: {
            items: items.map(jobListView),
            ...(next === undefined ? {} : { cursor: writeCursor("jobs", String(next)) }),
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
        const job = await operations.readJob(id);
        if (job === null)
          throw new Refusal("missing", `There is no job ${JSON.stringify(id.slice(0, 200))}.`);
        return { status: 200, body: jobView(job) };
      },
    }),
  ];
}
