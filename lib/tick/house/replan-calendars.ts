import type { EditDeps } from "../../edit/edit-transaction.ts";
import type { Log } from "../../log/log.ts";
import { asideOrNoted } from "../../quarantine/try-rows.ts";
import { calendarsToReplan } from "../../rules/calendar-replans.ts";
import { replanCalendar } from "../../rules/replan-calendar.ts";

const calendarsMax = 100;
/** A calendar has so many schedules planned anew before it is the next one's turn. */
const perTurn = 200;

/**
 * Goes on where the edit of a calendar stopped: calendars take turns until nothing is left or time is up. Where no calendar was
 * edited, this is one look into an empty index. A schedule that fails is set aside; a shard whose locks are not to be had is left until the
 * next tick.
 */
export async function replanCalendars(
  deps: EditDeps & { log: Log },
  { timeIsUp, note }: { timeIsUp: () => boolean; note: (error: unknown) => void },
): Promise<void> {
  const { sql, log } = deps;
  const failed = asideOrNoted({ sql, log, consumer: "calendar-replan" }, note);
  const bounds = { most: perTurn, timeIsUp, failed, left: new Set<number>() };
  /** Nothing of these is left but what has failed: it stays on the list, and keeps no other calendar from its turn. */
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
