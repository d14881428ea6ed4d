import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type Label, type SharedHold, sharedHoldsOf } from "../schedule/shared-holds.ts";
import { type OpenJob, type OpenJobs, openJobsMax, openJobsOf } from "./open-jobs.ts";
import type { ScheduleRead } from "./read-schedule.ts";
import { listSchedules } from "./search-schedules.ts";
import { jobsToCome } from "./unmade-jobs.ts";

/** A group or a tag: the holds that stand on it or are being let go, a page of its schedules, and the open jobs of these. */
export interface LabelRead {
  holds: SharedHold[];
  schedules: ScheduleRead[];
  jobs: OpenJobs;
  next?: string;
}

/** Null where there is neither a hold nor a schedule. */
export async function readLabel(
  tx: Tx,
  label: Label,
  page: { limit: number; after?: string | undefined; prefix?: string | undefined },
): Promise<LabelRead | null> {
  const now = await databaseClock(tx);
  const holds = (await sharedHoldsOf(tx, label)).filter(
    (hold) => (hold.until === null || hold.until > now) && concerns(hold, page.prefix),
  );
  const { items, next } = await listSchedules(tx, { [label.scope]: label.name, ...page });
  if (holds.length === 0 && items.length === 0 && page.after === undefined) return null;
  const jobs = await openAndToCome(
    tx,
    items.map(({ id }) => id),
  );
  return { holds, schedules: items, jobs, ...(next === undefined ? {} : { next }) };
}

/** Open are also those that have no row yet. */
async function openAndToCome(tx: Tx, ids: readonly string[]): Promise<OpenJobs> {
  // First: what becomes a row meanwhile is then found as that.
  const toCome = await jobsToCome(tx, ids);
  const open = await openJobsOf(tx, ids);
  const known = new Set(open.items.map(({ id }) => id));
  const others = toCome
    .filter(({ id }) => !known.has(id))
    .map((job): OpenJob => ({ ...job, waitsFor: job.readyAt === null ? "hold" : "time" }));
  const all = [...open.items, ...others].sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime());
  return { items: all.slice(0, openJobsMax), more: open.more || all.length > openJobsMax };
}

/** Whether a hold can bind a key under the prefix. */
function concerns(hold: SharedHold, prefix = ""): boolean {
  return prefix.startsWith(hold.prefix) || hold.prefix.startsWith(prefix);
}
