import type { EditDeps } from "../plan/edit-transaction.ts";
import { type ReplanBounds, replanCalendar } from "../plan/replan-calendar.ts";
import { calendarsToReplan } from "../schedule/calendar-replans.ts";

const calendarsMax = 100;
/** A calendar has so many schedules planned anew before it is the next one's turn. */
const perTurn = 200;

/**
 * Goes on where the edit of a calendar stopped: calendars take turns until nothing is left or time is up. Where no calendar was
 * edited, this is one look into an empty index.
 */
export async function replanCalendars(
  deps: EditDeps,
  { timeIsUp, note }: Pick<ReplanBounds, "timeIsUp" | "note">,
): Promise<void> {
  let left = await calendarsToReplan(deps.sql, calendarsMax);
  while (left.length > 0 && !timeIsUp()) {
    const unfinished: number[] = [];
    for (const calendarId of left) {
      if (timeIsUp()) return;
      const { done } = await replanCalendar(deps, calendarId, { most: perTurn, timeIsUp, note });
      if (!done) unfinished.push(calendarId);
    }
    left = unfinished;
  }
}
