import * as z from "zod";
import { databaseClock } from "../db/database-clock.ts";
import { defineJob, type JobHandler } from "../job/define-job.ts";
import type { Metrics } from "../log/metrics.ts";
import { canaryHandlerName } from "./canaries.ts";

/**
 * Where the slow canary arrives: it says so in a metric, with how late it was. It asks the clock in its transaction, so that a handler's
 * way to the database is proven as well. It belongs to Carillon and not to the handlers of an app, who may be others or none.
 */
export function canaryHandler(metrics: Metrics): JobHandler {
  return defineJob({
    name: canaryHandlerName,
    payload: z.null(),
    run: async ({ dueAt }, { sql }) => {
      const now = await databaseClock(sql);
      metrics.write({ CanaryMs: Math.max(0, now.getTime() - dueAt.getTime()) }, { queue: "slow" });
    },
  });
}
