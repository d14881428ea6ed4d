import type { Sql } from "../../db/connect.ts";
import { type GroupSearch, groupJobs, type JobGroups } from "../../history/error-groups.ts";
import { cancelDryRun, type DryRun, retryDryRun } from "../../job-control/dry-run.ts";
import type { CancelFilter } from "../../job-control/find-open.ts";
import type { RetryFilter } from "../../job-control/retry-many.ts";

/** Failed jobs in groups, and dry runs of bulk actions on jobs. */
export interface FailureOperations {
  /** Groups of the same error, the largest first. */
  group(search: GroupSearch): Promise<JobGroups>;
  /** Counts the jobs that `cancelMany` and `retryMany` would act on, and changes nothing. */
  cancelDryRun(filter: CancelFilter): Promise<DryRun>;
  retryDryRun(filter: RetryFilter): Promise<DryRun>;
}

export function failureOperations(sql: Sql): FailureOperations {
  return {
    group: (search) => groupJobs(sql, search),
    cancelDryRun: (filter) => cancelDryRun(sql, filter),
    retryDryRun: (filter) => retryDryRun(sql, filter),
  };
}
