import type { Tx } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { type JobPlace, placeBehind } from "../job/job-place.ts";
import type { JobRead } from "../job/read-job.ts";
import { Refusal } from "../refusal.ts";
import { endOf, newestFirst, pageUpTo } from "./job-order.ts";
import { type HistoryTimes, historyOf, limitsOf } from "./search-history.ts";

/** How many rounds of reading one page may take. Several histories share them. */
const roundsMax = 10;

/**
 * The merged histories of a few schedules, newest occurrence first. The page ends where the reading
 * of one of the histories has ended, so it may have fewer than `limit` items and still a `next`.
 */
export async function mergedHistories(
  tx: Tx,
  ids: readonly string[],
  { filter, before, limit }: { filter: HistoryTimes; before?: JobKey | undefined; limit: number },
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const rounds = Math.max(1, Math.floor(roundsMax / Math.max(1, ids.length)));
  const found: JobRead[] = [];
  const ends: JobKey[] = [];
  for (const id of ids) {
    const { items, next } = await historyOf(
      tx,
      { id },
      { filter, before: placeOf(id, before), limit, rounds },
    );
    found.push(...items);
    if (next !== undefined) ends.push(endOf(id, next));
  }
  // Beyond the first end, one of the histories is not read yet.
  const [end = null] = ends.sort(newestFirst);
  return pageUpTo(found, end, limit);
}

/** Where a schedule's jobs continue after a job, which may be of another schedule. */
function placeOf(id: string, before: JobKey | undefined): JobPlace | undefined {
  if (before === undefined) return undefined;
  const { occurrence, scheduleId, kind, n } = before;
  const at = occurrence.getTime();
  if (id === scheduleId) return { at, kind, n };
  return { at: BigInt(id) < BigInt(scheduleId) ? at + 1 : at, kind: null, n: 0 };
}

/** Largest number of schedules whose histories are read for one page. */
const oneByOneMax = 50;

/**
 * The jobs of a key: those of its current schedule, newest occurrence first, then those of deleted
 * schedules with the same key, the latest first. A page may have fewer than `limit` items and still
 * a `next`.
 */
export async function searchKey(
  tx: Tx,
  {
    filter: { key, ...asked },
    before,
    limit,
  }: { filter: HistoryTimes & { key: string }; before?: JobKey | undefined; limit: number },
): Promise<{ items: JobRead[]; next?: JobKey }> {
  const filter = { ...asked, ...(await limitsOf(tx, asked)) };
  const upTo = before === undefined ? tx`` : tx`and id <= ${before.scheduleId}::bigint`;
  const rows = await tx<{ id: string }[]>`
    (select id from carillon.schedules where key = ${key} and deleted_at is null ${upTo})
    union all (select id from carillon.schedules where key = ${key} and deleted_at is not null ${upTo})
    order by id desc limit ${oneByOneMax + 1}`;
  if (rows.length === 0 && before === undefined)
    throw new Refusal("missing", `No schedule has or had the key ${JSON.stringify(key)}.`);
  const items: JobRead[] = [];
  for (const { id } of rows.slice(0, oneByOneMax)) {
    const reached = items.at(-1);
    if (items.length === limit && reached !== undefined) return { items, next: reached };
    const behind = before?.scheduleId === id ? placeBehind(before) : undefined;
    const page = await historyOf(tx, { id }, { filter, before: behind, limit: limit - items.length });
    items.push(...page.items);
    if (page.next !== undefined) return { items, next: endOf(id, page.next) };
  }
  const last = rows[oneByOneMax - 1];
  return rows.length > oneByOneMax && last !== undefined
    ? { items, next: { occurrence: new Date(0), scheduleId: last.id, kind: "cadence", n: 0 } }
    : { items };
}
