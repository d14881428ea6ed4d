import type { Sql } from "../../db/connect.ts";
import { countJobs, countOfKey } from "../../history/jobs/count-jobs.ts";
import type { JobFilter } from "../../history/jobs/job-rows.ts";
import { countDead, type DeadFilter } from "../../history/looked-dead.ts";
import type { Count } from "../../history/search-page.ts";

/** How many jobs each of the searches finds, counted up to a bound. */
export interface JobCountOperations {
  dead(filter: DeadFilter): Promise<Count>;
  ofKey(filter: Parameters<typeof countOfKey>[1]): Promise<Count>;
  all(filter: JobFilter): Promise<Count>;
}

export function jobCountOperations(sql: Sql): JobCountOperations {
  return {
    dead: (filter) => countDead(sql, filter),
    ofKey: (filter) => countOfKey(sql, filter),
    all: (filter) => countJobs(sql, filter),
  };
}
