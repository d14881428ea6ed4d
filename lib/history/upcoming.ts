import { nextRunAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { runLimitOf } from "../plan/fires-left.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

/**
 * The next occurrences due after an instant, as far as holds and limits allow. Nominal instants, as
 * the cadence gives them.
 */
export async function upcomingOf(tx: Tx, schedule: StoredSchedule, now: Date, most: number): Promise<Date[]> {
  const limit = await runLimitOf(tx, schedule, now);
  return upcomingWith(schedule, now, Math.min(most, limit?.left ?? most));
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

/** A hold that has expired, but is not cleared yet, holds nothing. */
export function isHeldAt(
  { heldSince, heldUntil }: Pick<StoredSchedule, "heldSince" | "heldUntil">,
  now: number,
): boolean {
  return heldSince !== null && (heldUntil === null || heldUntil.getTime() > now);
}
