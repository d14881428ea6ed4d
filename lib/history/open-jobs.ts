import type { Tx } from "../db/connect.ts";
import { type JobKey, jobId } from "../job/job-id.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";

/**
 * The reason why an open job has not started: its time (also that of its next attempt), a hold, an
 * earlier occurrence of its schedule (`overlap`), another job of its group, or its turn at the
 * target. Null if it runs, or may start as soon as a worker claims it.
 */
export type WaitsFor = "time" | "hold" | "overlap" | "group" | "target" | null;

export interface OpenJob extends JobRead {
  waitsFor: WaitsFor;
}

export interface OpenJobs {
  /** By due time, earliest first. */
  items: OpenJob[];
  /** Whether there are more. */
  more: boolean;
}

/** Largest number of jobs in one answer. */
export const openJobsMax = 100;

/** The waiting, running and retrying jobs of some schedules. Unsettled jobs are all in parcels. */
export async function openJobsOf(tx: Tx, scheduleIds: readonly string[]): Promise<OpenJobs> {
  if (scheduleIds.length === 0) return { items: [], more: false };
  const ids = [...scheduleIds];
  const found = await tx<(JobKey & { waitsFor: WaitsFor })[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n,
      case when p.lease_until >= c.now then null
        when p.held_schedule is not null or (s.held_since is not null and coalesce(s.held_until, 'infinity') > c.now and j.kind <> 'manual') then 'hold'
        when p.lane like 'schedule/%' then 'overlap' when p.lane is not null then 'group' when p.turn = 'waits' then 'target'
        when coalesce(j.ready_at, j.due_at) > c.now or p.ready_at > c.now then 'time' end as "waitsFor"
    from (select carillon.clock() as now) c
    cross join carillon.parcels p
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    join carillon.schedules s on s.id = j.schedule_id
    where p.schedule_ids && ${ids}::bigint[] and k.schedule_id = any(${ids}::bigint[])
    order by j.due_at, j.occurrence, j.schedule_id, j.kind, j.n limit ${openJobsMax + 1}`;
  const shown = found.slice(0, openJobsMax);
  const jobs = new Map((await readJobsAt(tx, shown)).map((job) => [job.id, job]));
  const items = shown.flatMap(({ waitsFor, ...key }) => {
    const job = jobs.get(jobId(key));
    return job === undefined ? [] : [{ ...job, waitsFor }];
  });
  return { items, more: found.length > openJobsMax };
}
