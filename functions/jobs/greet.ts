import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";

/** The smallest handler there can be: it greets in the log. A first schedule that needs no queue and no bus. */
export const greet = defineJob({
  name: "greet",
  payload: z.strictObject({ name: z.string().min(1).max(100).default("world") }).nullable(),
  run: async (job, { log }) => {
    log.info("handler.greeted", { job: job.id, name: job.payload?.name ?? "world" });
  },
});
