import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { type JobKey, jobId, parseJobId } from "../job/job-id.ts";
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
 * full. A search for owners that are not listed looks up the schedule of each job.
 */
const steps = { listed: [500, 2_000, 20_000], unlisted: [500, 2_000, 7_500] };

/** Largest number of schedules whose histories are merged. */
const mergedMax = 20;

/**
 * Largest number of schedules that are listed by their ids. Jobs of other schedules are then left
 * out without looking their schedules up.
 */
const listedMax = 5_000;

/**
 * The jobs of many schedules, newest occurrence first, through the primary key, which has that
 * order. Unsettled jobs are in parcels, and are searched there if there are few parcels. Each page
 * checks a bounded number of jobs: it may have fewer than `limit` items, even none, and still a
 * `next`.
 */
export async function searchJobs(
  sql: Sql,
  { filter: asked, before, limit }: JobSearch,
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const filter = { ...asked, ...(await limitsOf(sql, asked)) };
  const ids = await fewSchedules(sql, filter, { named: listedMax, found: listedMax });
  if (ids !== null && ids.length <= mergedMax) return mergedHistories(sql, ids, { filter, before, limit });
  // Read first: a job that gets its row meanwhile is then found by the second query.
  const toCome = await findToCome(sql, { filter, before, limit });
  const made = await searchMade(sql, { filter, before, limit }, ids);
  if (toCome.length === 0) return made;
  const known = new Set(made.items.map(({ id }) => id));
  const found = [...made.items, ...toCome.filter(({ id }) => !known.has(id))];
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
  if (
    !hasOwner(owners) ||
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

const hasOwner = ({ prefix, group, tag, target }: Omit<JobOwners, "key">) =>
  [prefix, group, tag, target].some((owner) => owner !== undefined);

async function searchMade(
  sql: Sql,
  { filter, before, limit }: JobSearch,
  ids: readonly string[] | null,
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const open = isOpen(filter.state) ? await openFew(sql) : null;
  if (open !== null) {
    const found = await matching(
      sql,
      { filter, ids, rows: (tx) => fromParcels(tx, filter, before, open) },
      limit,
    );
    const last = found.length === limit ? found.at(-1) : undefined;
    return { items: await inOrder(sql, found, filter), ...(last === undefined ? {} : { next: last }) };
  }
  const found: JobKey[] = [];
  let place = before;
  for (const step of hasOwner(filter) && ids === null ? steps.unlisted : steps.listed) {
    const left = limit - found.length;
    const begin = place;
    const stop = await stopAfter(sql, filter, begin, step);
    const rows = (tx: Tx) => walked(tx, filter, begin, stop);
    const some = await matching(sql, { filter, ids, rows }, left);
    found.push(...some);
    if (some.length === left) {
      place = some.at(-1);
      break;
    }
    if (stop === null) return { items: await inOrder(sql, found, filter) };
    place = stop;
  }
  return { items: await inOrder(sql, found, filter), ...(place === undefined ? {} : { next: place }) };
}

/** The last of the next jobs, of any schedule and state, that one statement checks. Null if these are all. */
async function stopAfter(
  sql: Sql,
  filter: JobFilter,
  before: JobKey | undefined,
  most: number,
): Promise<JobKey | null> {
  const [stop = null] = await byIndex(
    sql,
    (tx) => tx<JobKey[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n from carillon.jobs j where true ${within(tx, filter, before)}
    order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc offset ${most - 1}::int limit 1`,
  );
  return stop;
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

interface Rows {
  filter: JobFilter;
  /** The schedules that match; null if they are not listed. */
  ids: readonly string[] | null;
  /** SQL: the jobs that are checked. */
  rows: (tx: Tx) => ReturnType<typeof walked>;
}

/** The first of these jobs that match, newest first. */
function matching(sql: Sql, { filter, ids, rows }: Rows, most: number): Promise<readonly JobKey[]> {
  return byIndex(
    sql,
    (tx) => tx<JobKey[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n
    from (
      ${rows(tx)} and ${mayBeIn(tx, filter)} ${ids === null ? tx`` : tx`and j.schedule_id = any(${[...ids]}::bigint[])`}
      order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc offset 0) j
    cross join lateral (select * from carillon.schedules s where s.id = j.schedule_id offset 0) s
    left join lateral (select p.lease_until from carillon.parcels p where p.id = j.parcel_id offset 0) p on true
    where ${isOwner(tx, filter)} ${isIn(tx, filter)}
    order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc limit ${most}`,
  );
}

const columns = (tx: Tx) =>
  tx`j.occurrence, j.schedule_id, j.kind, j.n, j.state, j.reason, j.attempt, j.version, j.parcel_id, j.error, j.due_at, j.started_at`;

function walked(tx: Tx, filter: JobFilter, before: JobKey | undefined, stop: JobKey | null) {
  return tx`
    select ${columns(tx)} from carillon.jobs j where true ${within(tx, filter, before)}
    ${
      stop === null
        ? tx``
        : tx`and j.occurrence >= ${stop.occurrence} and (j.occurrence, j.schedule_id, j.kind, j.n)
          >= (${stop.occurrence}::timestamptz, ${stop.scheduleId}::bigint, ${stop.kind}::carillon.job_kind, ${stop.n}::int)`
    }`;
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

/**
 * A condition on a job's own row that every matching job meets. Most jobs do not, and their schedules
 * and parcels are then not looked up.
 */
function mayBeIn(tx: Tx, { state, reason, errorGroup }: JobFilter) {
  const stored = state === undefined ? [] : isOpen(state) ? ["waiting"] : [state, "waiting"];
  return tx`
    ${state === undefined ? tx`true` : tx`j.state = any(${stored}::text[]::carillon.job_state[])`}
    ${reason === undefined ? tx`` : tx`and (j.reason = ${reason} or j.state = 'waiting')`}
    ${errorGroup === undefined ? tx`` : tx`and j.error is not null`}`;
}

function isIn(tx: Tx, { state, reason, errorGroup, lateBy }: JobFilter) {
  return tx`
    ${state === undefined ? tx`` : tx`and ${stateOfJob(tx)} = ${state}`}
    ${reason === undefined ? tx`` : tx`and ${reasonOfJob(tx)} = ${reason}`}
    ${errorGroup === undefined ? tx`` : tx`and ${errorGroupOfJob(tx)} = any(${[...errorGroup]}::text[])`}
    ${lateBy === undefined ? tx`` : tx`and ${isLateBy(tx, lateBy)}`}`;
}
