import type { Sql } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import { type JobKey, jobKinds } from "../job/job-id.ts";
import { type ClaimedParcel, claimedJob, type JobRow } from "./claim.ts";
import type { ClaimedJob } from "./claimed-job.ts";
import { lightPayload } from "./heavy-payloads.ts";

type Row =
  | (JobRow & { parcel: string })
  | { parcel: string; occurrence: null; more: { fence: number; claimedAt: string } };

/**
 * Claims, in one statement, those of these parcels that are ready and whose jobs may all start as
 * they are. The others stay unchanged: `claimParcel` tells the reason for each.
 */
export async function claimTogether(
  sql: Sql,
  ids: readonly string[],
  leaseMs: number,
): Promise<Map<string, ClaimedParcel>> {
  const rows = await keptPlan(sql<Row[]>`
    select parcel, date_part('epoch', occurrence) * 1000 as occurrence, schedule_id as "scheduleId", kind, n, due_at as "dueAt", attempt,
      planned_version as "plannedVersion", version, key, group_key as group, target, ${lightPayload(sql)}, more
    from carillon.claim_parcels(${[...ids]}::bigint[], ${Math.ceil(leaseMs)})`);
  return parcelsOf(rows);
}

/**
 * Claims waiting parcels of the same target for the worker of a claimed parcel. They use only the
 * places of that parcel. At most `company` of them are claimed.
 */
export async function claimCompany(
  sql: Sql,
  { id, fence, company }: Pick<ClaimedParcel, "id" | "fence" | "company">,
  leaseMs: number,
): Promise<ClaimedParcel[]> {
  const rows = await keptPlan(sql<Row[]>`
    select parcel, date_part('epoch', occurrence) * 1000 as occurrence, schedule_id as "scheduleId", kind, n, due_at as "dueAt", attempt,
      planned_version as "plannedVersion", version, key, group_key as group, target, ${lightPayload(sql)}, more
    from carillon.claim_company(${id}, ${fence}, ${company}, ${Math.ceil(leaseMs)})`);
  return [...parcelsOf(rows).values()];
}

/**
 * The claimed parcels. The rows of a parcel's jobs come before the parcel's own row, in any order;
 * each parcel gets its jobs sorted.
 */
export function parcelsOf(rows: readonly Row[]): Map<string, ClaimedParcel> {
  const jobsOf = new Map<string, ClaimedJob[]>();
  const claimed = new Map<string, ClaimedParcel>();
  for (const row of rows) {
    const { parcel: id } = row;
    const jobs = jobsOf.get(id) ?? [];
    if (row.occurrence === null) {
      const { fence, claimedAt } = row.more;
      const at = new Date(claimedAt);
      const slots = jobs.length;
      putInOrder(jobs);
      claimed.set(id, { outcome: "claimed", id, fence, claimedAt: at, jobs, slots, company: 0, freed: [] });
      continue;
    }
    if (jobs.length === 0) jobsOf.set(id, jobs);
    jobs.push(claimedJob(row));
  }
  return claimed;
}

/** Sorts only if necessary: the rows are read along an index, and nearly always in order. */
function putInOrder(jobs: ClaimedJob[]): void {
  const isInOrder = jobs.every((job, index) => {
    const before = jobs[index - 1];
    return before === undefined || byKey(before, job) <= 0;
  });
  if (!isInOrder) jobs.sort(byKey);
}

function byKey(a: JobKey, b: JobKey): number {
  return (
    a.occurrence.getTime() - b.occurrence.getTime() ||
    a.scheduleId.length - b.scheduleId.length ||
    (a.scheduleId < b.scheduleId ? -1 : a.scheduleId > b.scheduleId ? 1 : 0) ||
    jobKinds.indexOf(a.kind) - jobKinds.indexOf(b.kind) ||
    a.n - b.n
  );
}
