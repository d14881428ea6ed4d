import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type Label, type SharedHold, sharedHoldsOf } from "../schedule/shared-holds.ts";
import { type OpenJob, type OpenJobs, openJobsMax, openJobsOf } from "./open-jobs.ts";
import type { ScheduleRead } from "./read-schedule.ts";
import { listSchedules } from "./search-schedules.ts";
import { jobsToCome } from "./unmade-jobs.ts";

/** A hold as it is read. Members are null where the hold binds more keys than the reader reaches: how many there are is another team's to know. */
export type SharedHoldRead = Omit<SharedHold, "members"> & { members: number | null };

/** A group or a tag: the holds that stand on it or are being let go, a page of its schedules, and the open jobs of these. */
export interface LabelRead {
  holds: SharedHoldRead[];
  schedules: ScheduleRead[];
  jobs: OpenJobs;
  next?: string;
}

interface LabelPage {
  limit: number;
  after?: string | undefined;
  /** Of the keys that the reader reaches: of all, where it is left out. */
  prefix?: string | undefined;
}

/** Null where there is neither a hold nor a schedule within the prefix. */
export async function readLabel(tx: Tx, label: Label, page: LabelPage): Promise<LabelRead | null> {
  const now = await databaseClock(tx);
  const standing = (await sharedHoldsOf(tx, label)).filter(({ until }) => until === null || until > now);
  const { items, next } = await listSchedules(tx, { [label.scope]: label.name, ...page });
  const holds = await holdsWithin(tx, standing, { label, page, isOnPage: items.length > 0 });
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

/** The holds of keys under the prefix, and those of more keys where one of its schedules is bound by them. */
async function holdsWithin(
  tx: Tx,
  holds: readonly SharedHold[],
  { label, page: { after, prefix = "" }, isOnPage }: { label: Label; page: LabelPage; isOnPage: boolean },
): Promise<SharedHoldRead[]> {
  const own = (hold: SharedHold) => hold.prefix.startsWith(prefix);
  const isWider = (hold: SharedHold) => !own(hold) && prefix.startsWith(hold.prefix);
  const binds =
    isOnPage || (after !== undefined && holds.some(isWider) && (await hasSchedule(tx, label, prefix)));
  return holds.flatMap((hold): SharedHoldRead[] => {
    if (own(hold)) return [hold];
    return binds && isWider(hold) ? [{ ...hold, members: null }] : [];
  });
}

async function hasSchedule(tx: Tx, { scope, name }: Label, prefix: string): Promise<boolean> {
  return (await listSchedules(tx, { [scope]: name, prefix, limit: 1 })).items.length > 0;
}
