import * as z from "zod";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";

/** What an app gives as its `handlersEntry`. */
export const handlers: readonly JobHandler[] = [
  defineJob({ name: "of-an-app", payload: z.unknown(), run: async () => {} }),
];
