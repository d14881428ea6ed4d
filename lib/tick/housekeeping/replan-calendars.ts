import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";
import { asideOrNoted } from "../../quarantine/try-rows.ts";
import { calendarsToReplan } from "../../rules/calendar-replans.ts";
import { replanCalendar } from "../../rules/replan-calendar.ts";

const calendarsMax = 100;
/** The most turns of teams of one calendar before those of the next calendar. */
const turns = 4;

/**
 * Continues replanning after edits of calendars: some schedules of each calendar in each round,
 * until nothing is left or time is up. Without edited calendars, this is one lookup in an empty
 * index. A schedule that fails is set aside; a shard whose locks are not granted is left until the
 * next tick.
 */
export async function replanCalendars(
  deps: EditDeps & { log: Log },
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  const { sql, log } = deps;
  const failed = asideOrNoted({ sql, log, consumer: "calendar-replan" }, note);
  const bounds = { most: Number.POSITIVE_INFINITY, turns, timeIsUp, failed, left: new Set<number>() };
  /**
   * Calendars with only failed schedules left: they stay on the list, and do not delay other
   * calendars.
   */
  const through: number[] = [];
  while (!timeIsUp()) {
    const calendars = await calendarsToReplan(sql, { limit: calendarsMax, without: through });
    if (calendars.length === 0) return;
    for (const calendarId of calendars) {
      if (timeIsUp()) return;
      const { done } = await replanCalendar(deps, calendarId, bounds);
      if (done) through.push(calendarId);
    }
  }
}
