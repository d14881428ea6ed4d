import type { CalendarInterval } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { scanZone, walkZone } from "./minute-scan.ts";

const DAY = 86_400_000;

/**
 * All occurrences in `(from, upTo]`, for cadences on whole minutes: slow, simple, and independent
 * of lib/cadence.
 */
export function occurrencesOf(cadence: Cadence, from: number, upTo: number): number[] {
  switch (cadence.kind) {
    case "once":
      return [cadence.at].filter((at) => at > from && at <= upTo);
    case "interval": {
      const found: number[] = [];
      for (let at = cadence.firstAt; at <= upTo; at += cadence.everyMs) if (at > from) found.push(at);
      return found;
    }
    case "cron":
      return scanZone(cadence.expression, cadence.timezone, { from, upTo, dst: cadence.dst });
    case "calendar-interval": {
      const walls = wallsOf(cadence, upTo + 3 * DAY);
      const { gap = "next", overlap = "first" } = cadence.dst ?? {};
      const rule = { gap, overlap };
      return walkZone((wall) => walls.has(wall), cadence.timezone, { from, upTo, rule });
    }
    case "union": {
      const all = cadence.of.flatMap((member) => occurrencesOf(member, from, upTo));
      return [...new Set(all)].sort((a, b) => a - b);
    }
    case "window": {
      const { of, startsAt, endsAt } = cadence;
      return occurrencesOf(of, from, upTo).filter(
        (at) => (startsAt === null || at >= startsAt) && (endsAt === null || at < endsAt),
      );
    }
    case "calendared":
      throw new Error("Calendars have an oracle of their own.");
    case "unreadable":
      return [];
  }
}

function wallsOf({ every, unit, anchor, from }: CalendarInterval, upTo: number): Set<number> {
  const walls = new Set<number>();
  const first = new Date(anchor);
  for (let k: number = from; ; k += 1) {
    const units = every * k;
    const wall = new Date(anchor);
    if (unit === "day") wall.setUTCDate(first.getUTCDate() + units);
    if (unit === "week") wall.setUTCDate(first.getUTCDate() + 7 * units);
    if (unit === "month") wall.setUTCMonth(first.getUTCMonth() + units);
    if (unit === "year") wall.setUTCFullYear(first.getUTCFullYear() + units);
    // In a month that is too short, the date has rolled over into the next month: it goes back to
    // the last day.
    const rolledOver = (unit === "month" || unit === "year") && wall.getUTCDate() !== first.getUTCDate();
    if (rolledOver) wall.setUTCDate(0);
    if (wall.getTime() > upTo) return walls;
    walls.add(wall.getTime());
  }
}
