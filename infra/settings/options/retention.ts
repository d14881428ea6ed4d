// Written by `npm run settings` from infra/settings/retention.ts; a test compares the two.

/** Retention. [retention.md](retention.md) explains what is kept, and for how long. */
export interface RetentionOptions {
  /**
   * How many days a day of jobs is kept after all of its jobs have ended; older jobs answer 404.
   * Schedules that are over are kept as long.
   *
   * @default 30
   */
  readonly jobRetentionDays?: number | undefined;
  /**
   * How many days of the audit are kept, at least 30; 0 keeps all of it for ever.
   *
   * @default 365
   */
  readonly auditRetentionDays?: number | undefined;
  /**
   * The bucket, in this region, that gets each day's jobs before they are dropped. Default: none;
   * jobs are dropped without a copy.
   */
  readonly archiveBucket?: string | undefined;
  /**
   * The prefix of the names of the archive's objects.
   *
   * @default carillon/
   */
  readonly archivePrefix?: string | undefined;
}
