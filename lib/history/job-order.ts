import type { JobKey } from "../job/job-id.ts";
import { byPlace, type JobPlace } from "../job/job-place.ts";
import type { JobRead } from "../job/read-job.ts";

/** Compares jobs of many schedules: the newest occurrence first. */
export function newestFirst(a: JobKey, b: JobKey): number {
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

/** The key of a place in a schedule's history, whether or not there is a job at it. */
export function endOf(scheduleId: string, { at, kind, n }: JobPlace): JobKey {
  const occurrence = new Date(at);
  return kind === null
    ? { occurrence, scheduleId, kind: "cadence", n: 0 }
    : { occurrence, scheduleId, kind, n };
}

/**
 * Makes a page of the jobs that a search has found down to `end` (null: down to the last job). The
 * next page continues after the last job of this one, or at `end` if this one is not full.
 */
export function pageUpTo(
  found: readonly JobRead[],
  end: JobKey | null,
  limit: number,
): { items: JobRead[]; next?: JobKey } {
  const known = end === null ? [...found] : found.filter((job) => newestFirst(job, end) <= 0);
  const items = known.sort(newestFirst).slice(0, limit);
  const last = items.at(-1);
  if (items.length === limit && last !== undefined && (end !== null || known.length > limit))
    return { items, next: last };
  return end === null ? { items } : { items, next: end };
}
