import { z } from "zod";
import { auditRetention, jobRetention } from "../../lib/config/function-limits.ts";
import { textOrToken, wholeNumber } from "./shapes.ts";

/** What is kept, and how long. [retention.md](retention.md) tells how it goes. */
export const retentionSettings = {
  /** How many days of jobs are kept once all of a day's jobs have come to their ends; what is older is asked for in vain. Schedules that are over stay as long. */
  jobRetentionDays: wholeNumber(jobRetention.min, jobRetention.max).default(jobRetention.byDefault),
  /** How many days of the audit are kept, 30 at least; 0 for all of them, for ever. */
  auditRetentionDays: wholeNumber(auditRetention.min, auditRetention.max)
    .refine(
      (days) => days === 0 || days >= auditRetention.least,
      `it takes 0, or a whole number from ${auditRetention.least} on`,
    )
    .default(auditRetention.byDefault),
  /** The bucket, in this region, that has each day's jobs before they are dropped. None given: they are dropped without. */
  archiveBucket: textOrToken(
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    "it takes the name of a bucket",
  ).optional(),
  /** What the names of the archive's objects begin with. */
  archivePrefix: z
    .string()
    .regex(/^[\w!.*'()/=-]{0,200}$/, "it takes letters, digits and ! - _ . * ' ( ) / =")
    .default("carillon/"),
};
