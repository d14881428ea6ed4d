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
  let readTo = Number.NEGATIVE_INFINITY;
  for (const id of ids) {
    const { items, next } = await historyOf(
      tx,
      { id },
      { filter, before: placeOf(id, before), limit, rounds },
    );
    found.push(...items);
    if (next !== undefined) readTo = Math.max(readTo, next.kind === null ? next.at : next.at + 1);
  }
  const items = found
    .filter(({ occurrence }) => occurrence.getTime() >= readTo)
    .sort(newestFirst)
    .slice(0, limit);
  const last = items.at(-1);
  if (items.length === limit && last !== undefined) return { items, next: last };
  return readTo === Number.NEGATIVE_INFINITY ? { items } : { items, next: behindAllFrom(readTo) };
}

/** From where on the jobs of a schedule come behind a job of perhaps another one. */
function placeOf(id: string, before: JobKey | undefined): JobPlace | undefined {
  if (before === undefined) return undefined;
  const { occurrence, scheduleId, kind, n } = before;
  const at = occurrence.getTime();
  if (id === scheduleId) return { at, kind, n };
  return { at: BigInt(id) < BigInt(scheduleId) ? at + 1 : at, kind: null, n: 0 };
}

function newestFirst(a: JobRead, b: JobRead): number {
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

/** Before every job of an earlier occurrence, and behind all others. */
function behindAllFrom(at: number): JobKey {
  return { occurrence: new Date(at - 1), scheduleId: "9223372036854775807", kind: "again", n: 999_999_999 };
}
