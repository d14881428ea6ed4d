import { durationMs } from "../cadence/duration.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type JobPlace, placeBehind } from "../job/job-place.ts";
import type { JobRead, JobState } from "../job/read-job.ts";
import { missingSchedule } from "../schedule/moved-away.ts";
import { findSchedule, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { jobsOf } from "./job-history.ts";
import { endOf, newestFirst, pageUpTo } from "./job-order.ts";
import { unmadeJob } from "./unmade-jobs.ts";

/** Filter of a search in a history. */
export interface HistoryTimes {
  state?: JobState | undefined;
  reason?: string | undefined;
  /** Jobs whose last failed attempt is in one of these error groups. */
  errorGroup?: readonly string[] | undefined;
  /** Jobs that started at least this long after they were due: a duration such as `5m`. */
  lateBy?: string | undefined;
  /** Occurrences: from here … */
  from?: Date | undefined;
  /** … to before here. */
  to?: Date | undefined;
  /** Only occurrences that are still to come (true), or that have come (false). */
  upcoming?: boolean | undefined;
}

/** The limits of the occurrences of a search, with those that `upcoming` sets now. */
export async function limitsOf(
  tx: Tx,
  { from, to, upcoming }: HistoryTimes,
): Promise<Pick<HistoryTimes, "from" | "to">> {
  if (upcoming === undefined) return { from, to };
  const coming = new Date((await databaseClock(tx)).getTime() + 1);
  if (upcoming) return { to, from: from === undefined || from < coming ? coming : from };
  return { from, to: to === undefined || to > coming ? coming : to };
}

export interface HistoryFilter extends HistoryTimes {
  key: string;
}

export interface HistorySearch {
  filter: HistoryFilter;
  before?: JobPlace | undefined;
  limit: number;
}

const roundsMax = 10;
const perRound = 200;

/**
 * Searches one schedule's history, newest first. Each call reads a bounded part of it, so a page
 * may have fewer than `limit` items and still a `next`.
 */
export async function searchHistory(
  tx: Tx,
  { filter, before, limit }: HistorySearch,
): Promise<{ items: JobRead[]; next?: JobPlace }> {
  const { key } = filter;
  const schedule = await findSchedule(tx, key);
  if (schedule === null) throw await missingSchedule(tx, key);
  return historyOf(tx, schedule, { filter, before, limit });
}

type HistoryPage = { items: JobRead[]; next?: JobPlace };

/**
 * Like `searchHistory`, also for a deleted schedule, and with the job of a one-time schedule that
 * has no row yet. `rounds` is lower if several histories are read.
 */
export async function historyOf(
  tx: Tx,
  { id }: Pick<StoredSchedule, "id">,
  search: Omit<HistorySearch, "filter"> & { filter: HistoryTimes; rounds?: number },
): Promise<HistoryPage> {
  const { filter, before, limit } = search;
  const { from = new Date(0), to } = filter;
  // Read first: a job that gets its row meanwhile is then found by the second query.
  const unmade = await unmadeJob(tx, id);
  const made = await madeHistoryOf(tx, { id }, search);
  if (unmade === null || !fits(unmade, filter)) return made;
  const { occurrence } = unmade;
  const isPassed = before !== undefined && newestFirst(unmade, endOf(id, before)) <= 0;
  if (isPassed || occurrence < from || (to !== undefined && occurrence >= to)) return made;
  if (made.items.some((job) => job.id === unmade.id)) return made;
  const end = made.next === undefined ? null : endOf(id, made.next);
  const { items, next } = pageUpTo([unmade, ...made.items], end, limit);
  return { items, ...(next === undefined ? {} : { next: placeBehind(next) }) };
}

async function madeHistoryOf(
  tx: Tx,
  schedule: Pick<StoredSchedule, "id">,
  {
    filter,
    before,
    limit,
    rounds = roundsMax,
  }: Omit<HistorySearch, "filter"> & { filter: HistoryTimes; rounds?: number },
): Promise<HistoryPage> {
  const { from = new Date(0), to } = filter;
  const items: JobRead[] = [];
  let place = before ?? (to === undefined ? undefined : { at: to.getTime(), kind: null, n: 0 });
  for (let round = 0; round < rounds; round++) {
    const page = await jobsOf(tx, schedule, { limit: perRound, before: place });
    const inTime = page.items.filter(({ occurrence }) => occurrence >= from);
    const found = inTime.filter((job) => fits(job, filter)).slice(0, limit - items.length);
    items.push(...found);
    const last = found.at(-1);
    if (items.length === limit && last !== undefined) return { items, next: placeBehind(last) };
    if (inTime.length < page.items.length || page.next === undefined || page.next.at < from.getTime())
      return { items };
    place = page.next;
  }
  return place === undefined ? { items } : { items, next: place };
}

function fits(job: JobRead, { state, reason, errorGroup, lateBy }: HistoryTimes): boolean {
  const isLate = lateBy === undefined || (job.latenessMs ?? 0) >= (durationMs(lateBy) ?? 0);
  return (
    isLate &&
    (state === undefined || job.state === state) &&
    (reason === undefined || job.reason === reason) &&
    (errorGroup === undefined || errorGroup.includes(job.errorGroup ?? ""))
  );
}
