import type { Tx } from "../../db/connect.ts";
import { databaseClock } from "../../db/database-clock.ts";
import { type Label, type SharedHold, sharedHoldsOf } from "../../schedule/shared-holds.ts";
import { withCovered } from "../holds/covered-schedules.ts";
import { type OpenJobs, openJobsMax, openJobsOf } from "../open-jobs.ts";
import type { ScheduleRead } from "../read-schedule.ts";
import { listSchedules } from "../search-schedules.ts";
import { jobsToCome } from "../unmade-jobs.ts";

/**
 * A hold as it is shown. The number of members is null if the hold covers more keys than the reader
 * may see: it would count the schedules of another team.
 */
export type SharedHoldRead = Omit<SharedHold, "members"> & { members: number | null };

/**
 * A group or a tag: its current holds, including those being released, a page of its schedules, and
 * their open jobs.
 */
export interface LabelRead {
  holds: SharedHoldRead[];
  schedules: ScheduleRead[];
  jobs: OpenJobs;
  next?: string;
}

interface LabelPage {
  limit: number;
  after?: string | undefined;
  /** Limits the answer to the reader's keys; if missing, all keys. */
  prefix?: string | undefined;
}

/** Null if there is neither a hold nor a schedule within the prefix. */
export async function readLabel(tx: Tx, label: Label, page: LabelPage): Promise<LabelRead | null> {
  const now = await databaseClock(tx);
  const standing = (await sharedHoldsOf(tx, label)).filter(({ until }) => until === null || until > now);
  const { items, next } = await listSchedules(tx, { [label.scope]: label.name, ...page });
  const within = await holdsWithin(tx, standing, { label, page, isOnPage: items.length > 0 });
  const holds = await withCovered(
    tx,
    within.map((hold) => ({
      ...hold,
      isSet: hold.members !== null && hold.reached === null && hold.releasedAt === null,
    })),
  );
  if (holds.length === 0 && items.length === 0 && page.after === undefined) return null;
  const jobs = await openAndToCome(
    tx,
    items.map(({ id }) => id),
  );
  return { holds, schedules: items, jobs, ...(next === undefined ? {} : { next }) };
}

/** The open jobs, including those without a row yet. */
async function openAndToCome(tx: Tx, ids: readonly string[]): Promise<OpenJobs> {
  // Read first: a job that gets its row meanwhile is then found by the second query.
  const toCome = await jobsToCome(tx, ids);
  const open = await openJobsOf(tx, ids);
  const known = new Set(open.items.map(({ id }) => id));
  const others = toCome.filter(({ id }) => !known.has(id));
  const all = [...open.items, ...others].sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime());
  return { items: all.slice(0, openJobsMax), more: open.more || all.length > openJobsMax };
}

/**
 * The holds for keys under the prefix, and holds for more keys if they cover a schedule under the
 * prefix.
 */
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
