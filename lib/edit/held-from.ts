import { owedOf } from "../plan/aside.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, firstDueAfter, type Timetable, timetableOf } from "../schedule/stored/timetable.ts";
import type { Held } from "../schedule/stored/version-rows.ts";

/**
 * Returns the instant from which a hold counts: occurrences due after it are not planned. If the
 * cadence continues, that is the start of the current hold, or the cut. Otherwise it is the cut, or just
 * before a new `at` that is slightly in the past.
 */
export function heldFrom(
  current: StoredSchedule,
  {
    kept,
    next,
    cut,
    after,
    until,
  }: { kept: boolean; next: number | null; cut: Date; after: Timetable; until: Date | null },
): Held {
  if (kept) return { since: sameSince(current, current.heldSince ?? cut, after), until };
  return { since: heldSinceOf(next, cut), until };
}

/**
 * Returns the schedule with its hold moved back to before the first occurrence in quarantine. The
 * next version deletes the entry, so these occurrences must be released with the hold.
 */
export function withOwed(held: StoredSchedule): StoredSchedule {
  const [owed] = owedOf(held);
  if (held.heldSince === null || owed === undefined || owed.dueAt > held.heldSince) return held;
  return { ...held, heldSince: new Date(owed.dueAt.getTime() - 1) };
}

/** If the spread or slot changes, the hold counts from the same occurrence. */
function sameSince(current: StoredSchedule, since: Date, after: Timetable): Date {
  const before = timetableOf(current);
  if (before.lagMs === after.lagMs && before.slotMs === after.slotMs) return since;
  const first = firstDueAfter(before, since.getTime());
  return first === null ? since : new Date(dueAt(after, first) - 1);
}

export function heldSinceOf(first: number | null, cut: Date): Date {
  return first !== null && first <= cut.getTime() ? new Date(first - 1) : cut;
}
