import { byIndex } from "../../db/by-index.ts";
import type { Sql } from "../../db/connect.ts";
import type { JobKey } from "../../job/job-id.ts";
import type { JobRead } from "../../job/read-job.ts";
import { fewSchedules } from "../find-schedules.ts";
import { mergedHistories, searchKey } from "../search-histories.ts";
import { type HistoryTimes, limitsOf } from "../search-history.ts";
import type { Count } from "../search-page.ts";
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
import { findToCome } from "./search-jobs.ts";

/** A count stops here; the answer says that there are more. */
export const countedMax = 10_000;

/**
 * How many jobs of all schedules a count checks, the newest ones. A count for owners that are not
 * listed looks up the schedule of each job.
 */
export const checkedMax = { listed: 50_000, unlisted: 20_000 };

/** The jobs that `searchJobs` finds, counted as far as the bounds allow. */
export async function countJobs(sql: Sql, asked: JobFilter): Promise<Count> {
  const filter = { ...asked, ...(await limitsOf(sql, asked)) };
  const ids = await fewSchedules(sql, filter, { named: listedMax, found: listedMax });
  if (isMerged(ids)) return countPages((page) => mergedHistories(sql, ids, { filter, ...page }));
  const made = await countMade(sql, filter, ids);
  // A job that gets its row between the two is in neither count: the next one has it.
  const toCome = await findToCome(sql, { filter, limit: countedMax });
  const count = made.count + toCome.length;
  return { count: Math.min(count, countedMax), more: made.more || count > countedMax };
}

/** The jobs that `searchKey` finds, of the schedule with the key and of deleted ones that had it. */
export function countOfKey(sql: Sql, filter: HistoryTimes & { key: string }): Promise<Count> {
  return countPages((page) => searchKey(sql, { filter, ...page }));
}

const pageLength = 1_000;
/** Each page of histories reads about 2,000 jobs at most. */
const pagesMax = countedMax / pageLength;

type ReadPage = (page: {
  before: JobKey | undefined;
  limit: number;
}) => Promise<{ items: JobRead[]; next?: JobKey }>;

async function countPages(read: ReadPage): Promise<Count> {
  let count = 0;
  let before: JobKey | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { items, next } = await read({ before, limit: pageLength });
    count += items.length;
    if (next === undefined) return { count, more: false };
    before = next;
  }
  return { count, more: true };
}

async function countMade(sql: Sql, filter: JobFilter, ids: readonly string[] | null): Promise<Count> {
  const open = isOpen(filter.state) ? await openFew(sql) : null;
  if (open !== null)
    return countRows(sql, { filter, ids, rows: (tx) => fromParcels(tx, filter, undefined, open) });
  const most = hasOwner(filter) && ids === null ? checkedMax.unlisted : checkedMax.listed;
  const stop = await stopAfter(sql, filter, undefined, most);
  const found = await countRows(sql, { filter, ids, rows: (tx) => walked(tx, filter, undefined, stop) });
  return { ...found, more: found.more || stop !== null };
}

async function countRows(sql: Sql, rows: Rows): Promise<Count> {
  const [row] = await byIndex(
    sql,
    (tx) => tx<{ count: number }[]>`
    select count(*)::int as count from (select from ${matchingRows(tx, rows)} limit ${countedMax + 1}) matching`,
  );
  if (row === undefined) throw new Error("An aggregate without a row.");
  return { count: Math.min(row.count, countedMax), more: row.count > countedMax };
}
