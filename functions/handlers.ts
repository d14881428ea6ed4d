import type { JobHandler } from "../lib/job/define-job.ts";
import { digest } from "./jobs/digest.ts";
import { greet } from "./jobs/greet.ts";
import { orderUnshipped } from "./jobs/order-unshipped.ts";

/** Every handler that schedules can name. A file in functions/jobs/ counts when it stands here; a test sees to it. */
export const handlers: readonly JobHandler[] = [digest, greet, orderUnshipped];
