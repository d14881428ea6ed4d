import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";

/**
 * One message with all reminders of a person. Reminders are schedules of the group `person:{id}`,
 * and jobs of one group that are due together are delivered together. A larger project would send
 * its mail here.
 */
export const digest = defineJob({
  name: "digest",
  payload: z.strictObject({ text: z.string().min(1).max(500) }),
  grouped: true,
  run: async (jobs, { group, log }) => {
    const text = jobs.map(({ payload }) => `- ${payload.text}`).join("\n");
    log.info("handler.digested", { group, reminders: jobs.length, characters: text.length });
  },
});
