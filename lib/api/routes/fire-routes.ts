import * as z from "zod";
import { readKey } from "../../command/schedule-input.ts";
import { backfillMax } from "../../job-control/backfill.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { payloadShape } from "../../schedule/shape/schedule-shape.ts";
import { backfillDoc, fireDoc } from "../document/fire-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { noQuery, type Route, readShape, route, workRoute } from "../request/route.ts";
import { jobView } from "../views/job-view.ts";

const fireShape = z.strictObject({ payload: payloadShape });

const backfillShape = z.strictObject({
  from: instantShape,
  to: instantShape,
  limit: z.int().min(1).max(backfillMax).default(1_000),
});

/** Jobs that a caller requests beside the cadence. */
export function fireRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/schedules/{key}/fire",
      scope: "write",
      query: noQuery,
      doc: fireDoc(fireShape),
      answer: async ({ parameter, optionalBody, caller }) => {
        const key = readKey(parameter("key"));
        const body = optionalBody();
        const { payload } = readShape(fireShape, body, "body");
        // A body without `payload` leaves the job the schedule's payload; `null` is a payload.
        const own = typeof body === "object" && body !== null && "payload" in body ? { payload } : {};
        const job = await operations.fireNow({ key, ...own, caller });
        return {
          status: 202,
          body: jobView(job),
          headers: { location: `/v1/jobs/${encodeURIComponent(job.id)}` },
        };
      },
    }),
    workRoute({
      method: "POST",
      path: "/v1/schedules/{key}/backfill",
      scope: "write",
      query: noQuery,
      doc: backfillDoc(backfillShape),
      read: ({ parameter, body, caller }) => {
        const key = readKey(parameter("key"));
        return { key, ...readShape(backfillShape, body(), "body"), caller };
      },
      kind: "bulk",
      cost: {
        per: "each occurrence that is checked",
        most: backfillMax,
        isReserve: true,
        of: ({ limit }) => limit,
      },
      answer: async (params) => {
        const { next, ...done } = await operations.backfillSchedule(params);
        return {
          status: 202,
          body: { ...done, more: next !== null, ...(next === null ? {} : { next }) },
          units: done.accepted + done.existing,
        };
      },
    }),
  ];
}
