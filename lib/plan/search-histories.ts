import type { Tx } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { byPlace, type JobPlace } from "../job/job-place.ts";
import type { JobRead } from "../job/read-job.ts";
import { type HistoryTimes, historyOf } from "./search-history.ts";

/** Together they are looked at as long as one history is. */
const roundsMax = 10;

/**
 * The jobs of a few schedules, newest occurrence first: their histories, merged. Where one of them has not been read so far back as the
 * others, the page ends there: it may have fewer than `limit` and still a `next`.
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
  // Behind the first of the ends one history is not read any more.
  const [end] = ends.sort(newestFirst);
  const read = end === undefined ? found : found.filter((job) => newestFirst(job, end) <= 0);
  const items = read.sort(newestFirst).slice(0, limit);
  const last = items.at(-1);
  if (items.length === limit && last !== undefined && (end !== undefined || read.length > limit))
    return { items, next: last };
  return end === undefined ? { items } : { items, next: end };
}

/** The last job up to which a history is read, whether there is one or not. */
function endOf(scheduleId: string, { at, kind, n }: JobPlace): JobKey {
  const occurrence = new Date(at);
  return kind === null
    ? { occurrence, scheduleId, kind: "cadence", n: 0 }
    : { occurrence, scheduleId, kind, n };
}

/** From where on the jobs of a schedule come behind a job of perhaps another one. */
function placeOf(id: string, before: JobKey | undefined): JobPlace | undefined {
  if (before === undefined) return undefined;
  const { occurrence, scheduleId, kind, n } = before;
  const at = occurrence.getTime();
  if (id === scheduleId) return { at, kind, n };
  return { at: BigInt(id) < BigInt(scheduleId) ? at + 1 : at, kind: null, n: 0 };
}

function newestFirst(a: JobKey, b: JobKey): number {
  return (
    b.occurrence.getTime() - a.occurrence.getTime() ||
    (BigInt(b.scheduleId) < BigInt(a.scheduleId)
      ? -1
      : BigInt(b.scheduleId) > BigInt(a.scheduleId)
        ? 1
        : 0) ||
    byPlace(a, b)
  );
}
