import type { Tx } from "../db/connect.ts";
import { type JobKey, jobId, jobKinds, parseJobId } from "../job/job-id.ts";
import {
  errorGroupOfJob,
  type JobRead,
  type JobState,
  readJobsAt,
  reasonOfJob,
  stateOfJob,
} from "../job/read-job.ts";
import { fewSchedules, isOwner, type JobOwners } from "./find-schedules.ts";
import { newestFirst, pageUpTo } from "./job-order.ts";
import { isLateBy } from "./looked-dead.ts";
import { mergedHistories } from "./search-histories.ts";
import { type HistoryTimes, limitsOf } from "./search-history.ts";
import { jobsToCome, lookForUnmade } from "./unmade-jobs.ts";

export interface JobFilter extends Omit<JobOwners, "key">, HistoryTimes {
  state?: Exclude<JobState, "dead"> | undefined;
}

export interface JobSearch {
  filter: JobFilter;
  /** The job after which the page starts. */
  before?: JobKey | undefined;
  limit: number;
}

/** Whether a search may continue after that job. */
export const isJobPlace = (text: string): boolean => parseJobId(text) !== null;

/**
 * How many jobs the first, second and third statement of a page check. The page stops when it is
 * full.
 */
const steps = [500, 2_000, 7_500];

/**
 * The jobs of many schedules, newest occurrence first, through the primary key, which has that
 * order. Unsettled jobs are in parcels, and are searched there if there are few parcels. Each page
 * checks a bounded number of jobs: it may have fewer than `limit` items, even none, and still a
 * `next`.
 */
export async function searchJobs(
  tx: Tx,
  { filter: asked, before, limit }: JobSearch,
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const filter = { ...asked, ...(await limitsOf(tx, asked)) };
  const few = await fewSchedules(tx, filter);
  if (few !== null) return mergedHistories(tx, few, { filter, before, limit });
  // Read first: a job that gets its row meanwhile is then found by the second query.
  const toCome = await findToCome(tx, { filter, before, limit });
  const made = await searchMade(tx, { filter, before, limit });
  if (toCome.length === 0) return made;
  const ids = new Set(made.items.map(({ id }) => id));
  const found = [...made.items, ...toCome.filter(({ id }) => !ids.has(id))];
  return pageUpTo(found, made.next ?? null, limit);
}

/**
 * Largest number of schedules that are searched for jobs without a row: jobs that no tick has made
 * yet, or that were cancelled before.
 */
const ownersMax = 5_000;

/** The first jobs without a row, if the filter names owners and these are not too many. */
async function findToCome(tx: Tx, { filter, before, limit }: JobSearch): Promise<JobRead[]> {
  const { state, reason, errorGroup, lateBy, from, to, upcoming: _, ...owners } = filter;
  const isNamed = Object.values(owners).some((owner) => owner !== undefined);
  if (
    !isNamed ||
    reason !== undefined ||
    errorGroup !== undefined ||
    lateBy !== undefined ||
    (state !== undefined && state !== "waiting")
  )
    return [];
  const { found, last } = await lookForUnmade(tx, owners, { looked: ownersMax });
  if (last !== null) return [];
  const keys = found
    .map(({ id, occurrence }) => ({ occurrence, scheduleId: id, kind: "cadence", n: 0 }) as const)
    .filter(
      (key) =>
        (before === undefined || newestFirst(key, before) > 0) &&
        (from === undefined || key.occurrence >= from) &&
        (to === undefined || key.occurrence < to),
    )
    .sort(newestFirst);
  const jobs: JobRead[] = [];
  // Not all jobs found are still to come.
  for (let at = 0; at < keys.length && jobs.length <= limit; at += limit + 1) {
    const some = keys.slice(at, at + limit + 1);
    jobs.push(
      ...(await jobsToCome(
        tx,
        some.map(({ scheduleId }) => scheduleId),
      )),
    );
  }
  return jobs;
}

async function searchMade(
  tx: Tx,
  { filter, before, limit }: JobSearch,
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const open = isOpen(filter.state) ? await openFew(tx) : null;
  const found: JobKey[] = [];
  let place = before;
  for (const step of steps) {
    const left = limit - found.length;
    const looked = await look(tx, filter, { open, before: place, looked: step, found: left });
    found.push(...looked.found);
    place = looked.found.length === left ? looked.found.at(-1) : (looked.last ?? undefined);
    if (looked.found.length < left && looked.last === null)
      return { items: await inOrder(tx, found, filter) };
    if (found.length === limit) break;
  }
  return { items: await inOrder(tx, found, filter), ...(place === undefined ? {} : { next: place }) };
}

/**
 * The jobs of the keys, in the order of the keys. Jobs whose state has changed meanwhile are left
 * out.
 */
async function inOrder(tx: Tx, keys: readonly JobKey[], { state }: JobFilter): Promise<JobRead[]> {
  const jobs = new Map((await readJobsAt(tx, keys)).map((job) => [job.id, job]));
  return keys.flatMap((key) => {
    const job = jobs.get(jobId(key));
    return job === undefined || (state !== undefined && job.state !== state) ? [] : [job];
  });
}

const isOpen = (state: JobFilter["state"]) =>
  state === "waiting" || state === "running" || state === "retrying";

/**
 * Open jobs are sorted if they are at most this many; if more are open, a walk through all jobs
 * meets enough of them.
 */
const openMax = { jobs: 20_000, parcels: 5_000 };

/** The parcels with all open jobs; null if they are too many. */
async function openFew(tx: Tx): Promise<string[] | null> {
  const parcels = await tx<{ id: string; jobs: number }[]>`
    select id, cardinality(occurrences) as jobs from carillon.parcels where pulse_at is null order by id limit ${openMax.parcels + 1}`;
  const jobs = parcels.reduce((sum, parcel) => sum + parcel.jobs, 0);
  return parcels.length > openMax.parcels || jobs > openMax.jobs ? null : parcels.map(({ id }) => id);
}

interface Bounds {
  open: readonly string[] | null;
  before: JobKey | undefined;
  looked: number;
  found: number;
}

async function look(
  tx: Tx,
  filter: JobFilter,
  { open, before, looked, found }: Bounds,
): Promise<{ found: JobKey[]; last: JobKey | null }> {
  const rows = await tx<(Nullable<JobKey> & { looked: number; last: string | null })[]>`
    with looked as materialized (
      ${open === null ? walked(tx, filter, before) : fromParcels(tx, filter, before, open)}
      order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc limit ${looked}
    ), found as (
      select j.occurrence, j.schedule_id, j.kind, j.n from looked j
      cross join lateral (select * from carillon.schedules s where s.id = j.schedule_id offset 0) s
      left join lateral (select p.lease_until from carillon.parcels p where p.id = j.parcel_id offset 0) p on true
      where ${isOwner(tx, filter)} ${isIn(tx, filter)}
      order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc limit ${found})
    select e.looked, e.last, f.occurrence, f.schedule_id as "scheduleId", f.kind, f.n
    from (
      select (select count(*)::int from looked) as looked, (
        select concat_ws('/', (extract(epoch from occurrence) * 1000)::bigint, schedule_id, kind, n)
        from looked order by occurrence, schedule_id, kind, n limit 1) as last) e
    left join found f on true
    order by f.occurrence desc, f.schedule_id desc, f.kind desc, f.n desc`;
  const [first] = rows;
  const last = first === undefined || first.looked < looked || first.last === null ? null : keyIn(first.last);
  return { found: rows.flatMap(whole), last };
}

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null };

function whole({ occurrence, scheduleId, kind, n }: Nullable<JobKey>): JobKey[] {
  if (occurrence === null || scheduleId === null || kind === null || n === null) return [];
  return [{ occurrence, scheduleId, kind, n }];
}

function keyIn(text: string): JobKey {
  const [at = "", scheduleId = "", name, n = ""] = text.split("/");
  const kind = jobKinds.find((each) => each === name);
  if (kind === undefined) throw new Error(`The job key ${text} has an unknown kind.`);
  return { occurrence: new Date(Number(at)), scheduleId, kind, n: Number(n) };
}

const columns = (tx: Tx) =>
  tx`j.occurrence, j.schedule_id, j.kind, j.n, j.state, j.reason, j.attempt, j.version, j.parcel_id, j.error, j.due_at, j.started_at`;

function walked(tx: Tx, filter: JobFilter, before: JobKey | undefined) {
  return tx`select ${columns(tx)} from carillon.jobs j where true ${within(tx, filter, before)}`;
}

function fromParcels(tx: Tx, filter: JobFilter, before: JobKey | undefined, ids: readonly string[]) {
  return tx`
    select ${columns(tx)}
    from carillon.parcels p
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select * from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    where p.id = any(${[...ids]}::bigint[]) ${within(tx, filter, before)}`;
}

/** A bound by occurrence alone lets Postgres skip partitions. */
function within(tx: Tx, { from, to }: JobFilter, before: JobKey | undefined) {
  return tx`
    ${from === undefined ? tx`` : tx`and j.occurrence >= ${from}`}
    ${to === undefined ? tx`` : tx`and j.occurrence < ${to}`}
    ${
      before === undefined
        ? tx``
        : tx`and j.occurrence <= ${before.occurrence} and (j.occurrence, j.schedule_id, j.kind, j.n)
          < (${before.occurrence}::timestamptz, ${before.scheduleId}::bigint, ${before.kind}::carillon.job_kind, ${before.n}::int)`
    }`;
}

function isIn(tx: Tx, { state, reason, errorGroup, lateBy }: JobFilter) {
  return tx`
    ${state === undefined ? tx`` : tx`and ${stateOfJob(tx)} = ${state}`}
    ${reason === undefined ? tx`` : tx`and ${reasonOfJob(tx)} = ${reason}`}
    ${errorGroup === undefined ? tx`` : tx`and ${errorGroupOfJob(tx)} = any(${[...errorGroup]}::text[])`}
    ${lateBy === undefined ? tx`` : tx`and ${isLateBy(tx, lateBy)}`}`;
}
