/** The public API of `carillon/job`, for authors of handlers. */

export type { HandlerLog } from "../log/log.ts";
export { defineJob, type GroupResults, type JobDefinition, type JobHandler } from "./define-job.ts";
export type { HandlerJob, ScheduleInput } from "./handler-context.ts";
export { again, done, giveUp, retryAfter, retryAt } from "./handler-results.ts";
