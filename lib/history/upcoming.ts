import { nextRunAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { firesLeftAfter } from "../plan/fires-left.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

/**
 * The next occurrences due after an instant, as far as holds and limits allow. Nominal instants, as
 * the cadence gives them.
 */
export async function upcomingOf(tx: Tx, schedule: StoredSchedule, now: Date, most: number): Promise<Date[]> {
  return upcomingWith(schedule, now, Math.min(most, (await firesLeftFrom(tx, schedule, now)) ?? most));
}

/**
 * How many occurrences `maxFires` still allows after `now`, or after the end of a hold that ends by
 * itself. Null without `maxFires`.
 */
export function firesLeftFrom(tx: Tx, schedule: StoredSchedule, now: Date): Promise<number | null> {
  const { heldUntil } = schedule;
  return firesLeftAfter(tx, schedule, {
    countFrom: occurrenceDueBy(timetableOf(schedule), beginning(schedule, now).getTime()),
    heldUntil: heldUntil !== null && heldUntil > now ? heldUntil : null,
  });
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
