import { defineJob, type JobHandler } from "carillon/job";
import * as z from "zod";

/**
 * Reports on the days before its occurrence. A run that is late or repeated reports on the same days,
 * because it takes the time from its job and not from the clock.
 */
const report = defineJob({
  name: "report",
  payload: z.strictObject({ days: z.int().min(1).max(366) }),
  run: async ({ occurrence, payload }, { log }) => {
    log.info("report.written", { days: payload.days, until: occurrence.toISOString() });
  },
});

/** Every handler that schedules can name. */
export const handlers: readonly JobHandler[] = [report];
