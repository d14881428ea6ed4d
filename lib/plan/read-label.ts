import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type Label, type SharedHold, sharedHoldsOf } from "../schedule/shared-holds.ts";
import { type OpenJobs, openJobsOf } from "./open-jobs.ts";
import type { ScheduleRead } from "./read-schedule.ts";
import { listSchedules } from "./search-schedules.ts";

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
  const jobs = await openJobsOf(
    tx,
    items.map(({ id }) => id),
  );
  return { holds, schedules: items, jobs, ...(next === undefined ? {} : { next }) };
}

/** Whether a hold can bind a key under the prefix. */
function concerns(hold: SharedHold, prefix = ""): boolean {
  return prefix.startsWith(hold.prefix) || hold.prefix.startsWith(prefix);
}
