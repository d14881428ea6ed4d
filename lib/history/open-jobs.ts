import type { Tx } from "../db/connect.ts";
import { type JobKey, jobId } from "../job/job-id.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";

export interface OpenJobs {
  /** By due time, earliest first. */
  items: JobRead[];
  /** Whether there are more. */
  more: boolean;
}

/** Largest number of jobs in one answer. */
export const openJobsMax = 100;

/** The waiting, running and retrying jobs of some schedules. Unsettled jobs are all in parcels. */
export async function openJobsOf(tx: Tx, scheduleIds: readonly string[]): Promise<OpenJobs> {
  if (scheduleIds.length === 0) return { items: [], more: false };
  const ids = [...scheduleIds];
  const found = await tx<JobKey[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n
    from carillon.parcels_of(${ids}::bigint[]) own (id) join carillon.parcels p on p.id = own.id
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    where k.schedule_id = any(${ids}::bigint[])
    order by j.due_at, j.occurrence, j.schedule_id, j.kind, j.n limit ${openJobsMax + 1}`;
  const shown = found.slice(0, openJobsMax);
  const jobs = new Map((await readJobsAt(tx, shown)).map((job) => [job.id, job]));
  const items = shown.flatMap((key) => jobs.get(jobId(key)) ?? []);
  return { items, more: found.length > openJobsMax };
}
