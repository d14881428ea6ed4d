import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";

/**
 * The smallest possible handler, for a first schedule without a queue or a bus: it writes a
 * greeting to the log.
 */
export const greet = defineJob({
  name: "greet",
  payload: z.strictObject({ name: z.string().min(1).max(100).default("world") }).nullable(),
  run: async (job, { log }) => {
    log.info("handler.greeted", { job: job.id, name: job.payload?.name ?? "world" });
  },
});
