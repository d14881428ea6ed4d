import { z } from "zod";
import { auditRetention, jobRetention } from "../../lib/config/function-limits.ts";
import { textOrToken, wholeNumber } from "./shapes.ts";

/** Retention. [retention.md](retention.md) explains what is kept, and for how long. */
export const retentionSettings = {
  /**
   * How many days a day of jobs is kept after all of its jobs have ended; older jobs answer 404.
   * Schedules that are over are kept as long.
   */
  jobRetentionDays: wholeNumber(jobRetention.min, jobRetention.max).default(jobRetention.byDefault),
  /** How many days of the audit are kept, at least 30; 0 keeps all of it for ever. */
  auditRetentionDays: wholeNumber(auditRetention.min, auditRetention.max)
    .refine(
      (days) => days === 0 || days >= auditRetention.least,
      `it takes 0, or a whole number from ${auditRetention.least} on`,
    )
    .default(auditRetention.byDefault),
  /**
   * The bucket, in this region, that gets each day's jobs before they are dropped. Default: none;
   * jobs are dropped without a copy.
   */
  archiveBucket: textOrToken(
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    "it takes the name of a bucket",
  ).optional(),
  /** The prefix of the names of the archive's objects. */
  archivePrefix: z
    .string()
    .regex(/^[\w!.*'()/=-]{0,200}$/, "it takes letters, digits and ! - _ . * ' ( ) / =")
    .default("carillon/"),
};
