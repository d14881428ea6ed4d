import type { JobHandler } from "../lib/job/define-job.ts";

/** The handlers of the package's functions until an app provides its own. */
export const handlers: readonly JobHandler[] = [];
