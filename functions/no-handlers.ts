import type { JobHandler } from "../lib/job/define-job.ts";

/** What the package's functions have until an app names its own. */
export const handlers: readonly JobHandler[] = [];
