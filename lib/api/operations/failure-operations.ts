import type { Sql } from "../../db/connect.ts";
import { type GroupSearch, groupJobs, type JobGroups } from "../../history/error-groups.ts";
import { countEntries, type JobsByState, jobsOfEntries } from "../../history/jobs-of-entries.ts";
import { cancelDryRun, type DryRun, retryDryRun } from "../../job-control/dry-run.ts";
import type { CancelFilter } from "../../job-control/find-open.ts";
import type { RetryFilter } from "../../job-control/retry-many.ts";

/** Failed jobs in groups, and dry runs of bulk actions on jobs. */
export interface FailureOperations {
  /** Groups of the same error, the largest first. */
  group(search: GroupSearch): Promise<JobGroups>;
  /** The jobs that calls of a bulk action have changed. */
  ofEntries(search: Parameters<typeof jobsOfEntries>[1]): ReturnType<typeof jobsOfEntries>;
  countEntries(filter: Parameters<typeof countEntries>[1]): Promise<JobsByState>;
  /** Counts the jobs that `cancelMany` and `retryMany` would act on, and changes nothing. */
  cancelDryRun(filter: CancelFilter): Promise<DryRun>;
  retryDryRun(filter: RetryFilter): Promise<DryRun>;
}

export function failureOperations(sql: Sql): FailureOperations {
  return {
    group: (search) => groupJobs(sql, search),
    ofEntries: (search) => jobsOfEntries(sql, search),
    countEntries: (filter) => countEntries(sql, filter),
    cancelDryRun: (filter) => cancelDryRun(sql, filter),
    retryDryRun: (filter) => retryDryRun(sql, filter),
  };
}
