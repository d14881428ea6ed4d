import * as z from "zod";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";

/** The handlers of an app, for its `handlersEntry`. */
export const handlers: readonly JobHandler[] = [
  defineJob({ name: "of-an-app", payload: z.unknown(), run: async () => {} }),
];
