import { byIndex } from "../../db/by-index.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import { type JobKey, jobId, parseJobId } from "../../job/job-id.ts";
import { type JobRead, readJobsAt } from "../../job/read-job.ts";
import { fewSchedules } from "../find-schedules.ts";
import { newestFirst, pageUpTo } from "../job-order.ts";
import { mergedHistories } from "../search-histories.ts";
import { limitsOf } from "../search-history.ts";
import { jobsToCome, lookForUnmade } from "../unmade-jobs.ts";
import {
  fromParcels,
  hasOwner,
  isMerged,
  isOpen,
  type JobFilter,
  listedMax,
  matchingRows,
  openFew,
  type Rows,
  stopAfter,
  walked,
} from "./job-rows.ts";

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
  if (isMerged(ids)) return mergedHistories(sql, ids, { filter, before, limit });
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

/** At least the first jobs without a row, if the filter names owners and these are not too many. */
export async function findToCome(tx: Tx, { filter, before, limit }: JobSearch): Promise<JobRead[]> {
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

/** The first of these jobs that match, newest first. */
function matching(sql: Sql, { filter, ids, rows }: Rows, most: number): Promise<readonly JobKey[]> {
  return byIndex(
    sql,
    (tx) => tx<JobKey[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n
    from ${matchingRows(tx, { filter, ids, rows })}
    order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc limit ${most}`,
  );
}
