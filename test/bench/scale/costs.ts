import { total } from "../../../infra/tools/cost/line.ts";
import { pricesOfRegion } from "../../../infra/tools/cost/price-table.ts";
import { millionJobs, workloadMonth } from "../../../infra/tools/cost/workload.ts";
import type { Rented } from "./servers.ts";

/**
 * EventBridge Scheduler, us-east-1: the price per million invocations beyond the free ones of a
 * month, by public articles of 2026.
 */
export const eventBridgeScheduler = { millionInvocations: 1, freeInvocations: 14_000_000 } as const;

/**
 * The price of a core for an hour, in a general-purpose class with memory for databases, in one
 * zone. From general knowledge, not from a price list.
 */
const coreHour = 0.125;
const hoursAMonth = 730;
const daysAMonth = 365 / 12;
/**
 * Jobs that are due at full minutes travel some tens together; those at other times travel alone.
 */
const jobsPerParcel = 50;

export interface MonthOfBoth {
  invocations: number;
  database: number;
  jobs: number;
  storage: number;
  together: number;
  eventBridge: number;
}

/**
 * US dollars a month for this many schedules, on a database of this size in two zones, beside
 * EventBridge Scheduler's price for the invocations alone.
 */
export function monthOfBoth(
  schedules: number,
  firesPerDay: number,
  server: Pick<Rented, "cores">,
  cells: number,
): MonthOfBoth {
  const prices = pricesOfRegion("us-east-1").usd;
  const invocations = schedules * firesPerDay * daysAMonth;
  const zones = 2;
  const database = cells * zones * server.cores * coreHour * hoursAMonth;
  const jobs = (invocations / 1e6) * total(millionJobs(prices, jobsPerParcel));
  const stored = workloadMonth(prices, {
    schedules,
    firesPerDay: schedules * firesPerDay,
    jobsPerParcel,
    zones,
    daysKept: 30,
    traced: false,
  });
  const storage = total(stored) - jobs;
  const paid = Math.max(0, invocations - eventBridgeScheduler.freeInvocations);
  return {
    invocations,
    database,
    jobs,
    storage,
    together: database + jobs + storage,
    eventBridge: (paid / 1e6) * eventBridgeScheduler.millionInvocations,
  };
}
