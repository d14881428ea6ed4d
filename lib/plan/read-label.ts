import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type Label, type SharedHold, sharedHoldsOf } from "../schedule/shared-holds.ts";
import { listSchedules, type ScheduleRead } from "./read-schedule.ts";

/** A group or a tag: the holds that stand on it or are being let go, and a page of its schedules. */
export interface LabelRead {
  holds: SharedHold[];
  schedules: ScheduleRead[];
  next?: string;
}

/** Null where there is neither a hold nor a schedule. */
export async function readLabel(
  tx: Tx,
  label: Label,
  page: { limit: number; after?: string | undefined },
): Promise<LabelRead | null> {
  const now = await databaseClock(tx);
  const holds = (await sharedHoldsOf(tx, label)).filter(({ until }) => until === null || until > now);
  const { items, next } = await listSchedules(tx, { [label.scope]: label.name, ...page });
  if (holds.length === 0 && items.length === 0 && page.after === undefined) return null;
  return { holds, schedules: items, ...(next === undefined ? {} : { next }) };
}
