import type { Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import type { JobKey } from "../job/job-id.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";

/** The state of a schedule's rechecks. */
export interface Rechecks {
  /** The next recheck that has not started. */
  nextAt: Date | null;
  /** Whether one waits, runs or is retrying. */
  unsettled: boolean;
  /**
   * The number of rechecks in the newest chain; `since` is the occurrence of the job that began it.
   */
  checks: number;
  since: Date | null;
}

/**
 * How many rechecks of one schedule are checked, newest first: once among all of them, and once
 * among those that are due.
 */
const lookedAt = 30;

/**
 * The rechecks of the current specs of these schedules. Schedules without rechecks have no entry.
 * Only handlers request rechecks, and most never do; one lookup in a narrow index shows that a
 * schedule has none.
 */
export async function rechecksOf(tx: Tx, ids: readonly string[], now: Date): Promise<Map<string, Rechecks>> {
  const rows = await keptPlan(tx<(Rechecks & { id: string })[]>`
    select s.id, least(due."nextAt", ahead."nextAt") as "nextAt", coalesce(due.unsettled, false) or ahead."nextAt" is not null as unsettled,
      newest.checks, newest.since
    from carillon.schedules s
    cross join lateral (
      select j.checks, j.root_occurrence as since
      from (
        select ${jobOfRecheck(tx)} where b.schedule_id = s.id and b.kind = 'again'
        order by b.occurrence desc, b.n desc limit ${lookedAt}) j
      where j.version >= coalesce(s.fresh_version, 1)
      order by j.root_occurrence desc, j.checks desc limit 1) newest
    left join lateral (
      select b.occurrence as "nextAt" from carillon.jobs_beside b
      cross join lateral ${ownJob(tx)} j
      where b.schedule_id = s.id and b.kind = 'again' and b.occurrence > ${now} and j.state = 'waiting' and j.version >= coalesce(s.fresh_version, 1)
      order by b.occurrence, b.n limit 1) ahead on true
    left join lateral (
      select min(j.occurrence) filter (where j.attempt = 0 and coalesce(p.lease_until < ${now}, true)) as "nextAt", true as unsettled
      from (
        select ${jobOfRecheck(tx)} where b.schedule_id = s.id and b.kind = 'again' and b.occurrence <= ${now}
        order by b.occurrence desc, b.n desc limit ${lookedAt}) j
      join carillon.parcels p on p.id = j.parcel_id
      where j.state = 'waiting' and (j.version >= coalesce(s.fresh_version, 1) or p.lease_until >= ${now})
      having count(*) > 0) due on true
    where s.id = any(${ids}::bigint[]) and s.target_kind = 'handler'`);
  return new Map(rows.map(({ id, ...rechecks }) => [id, rechecks]));
}

/**
 * How many rechecks after a run are searched for those that it led to (`lookedAt`), and how many of
 * these are returned at most (`told`).
 */
const chain = { lookedAt: 1_000, told: 100 };

/** The rechecks that a run led to, in order. */
export async function rechecksOfRun(tx: Tx, root: JobKey): Promise<JobRead[]> {
  const keys = await tx<JobKey[]>`
    select j.schedule_id as "scheduleId", j.occurrence, j.kind, j.n
    from (
      select ${jobOfRecheck(tx)} where b.schedule_id = ${root.scheduleId} and b.kind = 'again' and b.occurrence > ${root.occurrence}
      order by b.occurrence, b.n limit ${chain.lookedAt}) j
    where j.root_occurrence = ${root.occurrence} and j.root_kind = ${root.kind}::carillon.job_kind and j.root_n = ${root.n}
    order by j.checks limit ${chain.told}`;
  return (await readJobsAt(tx, keys)).sort((a, b) => a.checks - b.checks);
}

/**
 * The job of a row of `jobs_beside` (b), found by its primary key and so in the partition of its
 * day only.
 */
export const ownJob = (tx: Tx) => tx`(
  select o.* from carillon.jobs o
  where o.occurrence = b.occurrence and o.schedule_id = b.schedule_id and o.kind = b.kind and o.n = b.n offset 0)`;

const jobOfRecheck = (tx: Tx) => tx`j.* from carillon.jobs_beside b cross join lateral ${ownJob(tx)} j`;
