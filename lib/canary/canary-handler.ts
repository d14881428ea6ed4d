import * as z from "zod";
import { databaseClock } from "../db/database-clock.ts";
import { defineJob, type JobHandler } from "../job/define-job.ts";
import type { Metrics } from "../log/metrics.ts";
import { canaryHandlerName } from "./canaries.ts";

/**
 * The target of the slow canary. It reports its lateness as a metric. It reads the clock within its
 * transaction, so that a handler's way to the database is tested as well. It is part of Carillon,
 * since an app may have no handlers.
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
