import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { type JobKey, jobId } from "../job/job-id.ts";
import { type JobRead, type JobState, jobStates, readJobsAt, stateOfJob } from "../job/read-job.ts";
import { newestFirst } from "./job-order.ts";

/** The jobs that requests retried or cancelled: each request is an entry of the audit. */
export interface EntryFilter {
  /** The ids of the entries. */
  entry: readonly string[];
  prefix?: string | undefined;
  state?: JobState | undefined;
}

/** The largest number of jobs that one page checks, and that one count counts. */
const lookedMax = { page: 2_000, count: 20_000 };
const readAtOnce = 250;

/**
 * The jobs of these entries in the states that they have now, newest occurrence first. A page checks
 * a bounded number of jobs: it may have fewer than `limit` items and still a `next`.
 */
export async function jobsOfEntries(
  sql: Sql,
  { filter, before, limit }: { filter: EntryFilter; before?: JobKey | undefined; limit: number },
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const keys = await keysOf(sql, filter.entry, before, lookedMax.page);
  const items: JobRead[] = [];
  // Mostly the first ones fill the page.
  const step = Math.max(limit, readAtOnce);
  for (let from = 0; from < keys.length; from += step) {
    const some = keys.slice(from, from + step);
    const jobs = new Map((await readJobsAt(sql, some)).map((job) => [job.id, job]));
    for (const key of some) {
      const job = jobs.get(jobId(key));
      if (job === undefined || !fits(job, filter)) continue;
      items.push(job);
      if (items.length === limit) return { items, next: key };
    }
  }
  const last = keys.length === lookedMax.page ? keys.at(-1) : undefined;
  return { items, ...(last === undefined ? {} : { next: last }) };
}

function fits({ key, state }: JobRead, filter: EntryFilter): boolean {
  return key.startsWith(filter.prefix ?? "") && (filter.state === undefined || state === filter.state);
}

/** How many jobs of the entries are in each state. */
export interface JobsByState {
  count: number;
  /** Counting stopped at its limit. */
  more: boolean;
  states: Record<JobState, number>;
}

export async function countEntries(
  sql: Sql,
  { entry, prefix = "" }: Omit<EntryFilter, "state">,
): Promise<JobsByState> {
  const keys = await keysOf(sql, entry, undefined, lookedMax.count + 1);
  const counted = keys.slice(0, lookedMax.count);
  const rows = await sql<{ state: JobState; jobs: number }[]>`
    select ${stateOfJob(sql)} as state, count(*)::int as jobs
    from unnest(${sql.array(counted.map(({ occurrence }) => occurrence))}::timestamptz[], ${counted.map(({ scheduleId }) => scheduleId)}::bigint[],
      ${counted.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${counted.map(({ n }) => n)}::int[]) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select * from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n offset 0) j
    cross join lateral (select * from carillon.schedules s where s.id = j.schedule_id offset 0) s
    left join lateral (select p.lease_until from carillon.parcels p where p.id = j.parcel_id offset 0) p on true
    where starts_with(s.key, ${prefix})
    group by 1`;
  const states = { ...noJobs };
  for (const { state, jobs } of rows) states[state] = jobs;
  const count = rows.reduce((sum, { jobs }) => sum + jobs, 0);
  return { count, more: keys.length > counted.length, states };
}

const noJobs = Object.fromEntries(jobStates.map((state) => [state, 0])) as Record<JobState, number>;

/** The next jobs of the entries, newest first; a job of two entries comes once. */
async function keysOf(
  sql: Sql,
  entries: readonly string[],
  before: JobKey | undefined,
  most: number,
): Promise<JobKey[]> {
  const rows: JobKey[] = [];
  for (const entry of new Set(entries)) rows.push(...(await keysOfOne(sql, entry, before, most)));
  const keys = new Map(rows.map((key) => [jobId(key), key]));
  return [...keys.values()].sort(newestFirst).slice(0, most);
}

function keysOfOne(sql: Sql, entry: string, before: JobKey | undefined, most: number) {
  return byIndex(
    sql,
    (tx) => tx<JobKey[]>`
    select r.occurrence, r.schedule_id as "scheduleId", r.kind, r.n from carillon.job_requests r
    where r.audit_id = ${entry}::bigint ${before === undefined ? tx`` : earlier(tx, before)}
    order by r.occurrence desc, r.schedule_id desc, r.kind desc, r.n desc limit ${most}`,
  );
}

/** A bound by occurrence alone lets Postgres skip partitions. */
function earlier(tx: Tx, before: JobKey) {
  return tx`and r.occurrence <= ${before.occurrence} and (r.occurrence, r.schedule_id, r.kind, r.n)
    < (${before.occurrence}::timestamptz, ${before.scheduleId}::bigint, ${before.kind}::carillon.job_kind, ${before.n}::int)`;
}
