import * as z from "zod";
import { placeText, readPlace } from "../job/job-place.ts";
import { Refusal } from "../refusal.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { jobListView, jobView } from "./job-view.ts";
import type { Operations } from "./operations.ts";
import { pageQuery } from "./query.ts";
import { noQuery, type Route, route } from "./route.ts";
import { readKey } from "./schedule-input.ts";

export function jobRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules/{key}/jobs",
      scope: "read",
      query: z.strictObject(pageQuery),
      answer: async ({ parameter, query: { cursor, limit } }) => {
        const key = readKey(parameter("key"));
        const isPlace = (text: string) => readPlace(text) !== null;
        const before =
          cursor === undefined ? undefined : (readPlace(readCursor(cursor, "jobs", isPlace)) ?? undefined);
        const { items, next } = await operations.jobsOfSchedule({ key, limit, before });
        return {
          status: 200,
          body: {
            items: items.map(jobListView),
            ...(next === undefined ? {} : { cursor: writeCursor("jobs", placeText(next)) }),
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
