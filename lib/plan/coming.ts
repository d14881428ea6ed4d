import { nextRunAfter } from "../cadence/cadence.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/timetable.ts";

/** The next occurrences that are due after an instant, as far as holds and limits let them; nominal, as the cadence tells them. */
export function comingOf(schedule: StoredSchedule, now: Date, most: number): Date[] {
  const { heldSince, heldUntil } = schedule;
  if (heldSince !== null && heldUntil === null) return [];
  const timetable = timetableOf(schedule);
  const from = heldUntil !== null && heldUntil > now ? heldUntil : now;
  const coming: Date[] = [];
  const limit = Math.min(most, timetable.firesLeft ?? most);
  let at = nextRunAfter(timetable.cadence, occurrenceDueBy(timetable, from.getTime()));
  for (; at !== null && coming.length < limit; at = nextRunAfter(timetable.cadence, at))
    coming.push(new Date(at));
  return coming;
}

/** An expired hold that nobody has cleared away yet holds nothing. */
export function isHeldAt(
  { heldSince, heldUntil }: Pick<StoredSchedule, "heldSince" | "heldUntil">,
  now: number,
): boolean {
  return heldSince !== null && (heldUntil === null || heldUntil.getTime() > now);
}
