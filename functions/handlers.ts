import type { JobHandler } from "../lib/job/define-job.ts";
import { digest } from "./jobs/digest.ts";
import { greet } from "./jobs/greet.ts";
import { orderUnshipped } from "./jobs/order-unshipped.ts";

/**
 * Every handler that schedules can name. A file in functions/jobs/ counts only if it is listed
 * here; a test checks that each is.
 */
export const handlers: readonly JobHandler[] = [digest, greet, orderUnshipped];
