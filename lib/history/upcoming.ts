import { nextRunAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { isBeyond, runLimitOf } from "../plan/fires-left.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

/**
 * The next occurrences due after an instant, as far as holds and limits allow. Nominal instants, as
 * the cadence gives them.
 */
export async function upcomingOf(tx: Tx, schedule: StoredSchedule, now: Date, most: number): Promise<Date[]> {
  const limit = await runLimitOf(tx, schedule, now);
  if (limit === null) return upcomingWith(schedule, now, most);
  const { cadence } = timetableOf(schedule);
  const coming = upcomingWith(schedule, now, Math.min(most, limit.left));
  return coming.filter((at) => !isBeyond(cadence, at.getTime(), limit));
}

/** Like `upcomingOf`, if the remaining limit is known. */
export function upcomingWith(schedule: StoredSchedule, now: Date, most: number): Date[] {
  const { heldSince, heldUntil } = schedule;
  if (heldSince !== null && heldUntil === null) return [];
  const timetable = timetableOf(schedule);
  const coming: Date[] = [];
  let at = nextRunAfter(timetable.cadence, occurrenceDueBy(timetable, beginning(schedule, now).getTime()));
  for (; at !== null && coming.length < most; at = nextRunAfter(timetable.cadence, at))
    coming.push(new Date(at));
  return coming;
}

function beginning({ heldUntil }: StoredSchedule, now: Date): Date {
  return heldUntil !== null && heldUntil > now ? heldUntil : now;
}
