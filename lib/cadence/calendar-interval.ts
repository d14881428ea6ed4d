import { civilFromDays, daysFromCivil, daysInMonth, MS_PER_DAY } from "./zone/civil.ts";
import type { Dst } from "./zone/clock-rule.ts";
import type { WallSearch } from "./zone/wall-search.ts";

export type CalendarUnit = "day" | "week" | "month" | "year";

/**
 * Occurrence k is `every × k` units after the anchor, always counted from the anchor itself:
 * monthly from 31 January, it occurs on the last day of February and then on 31 March.
 */
export interface CalendarInterval {
  kind: "calendar-interval";
  every: number;
  unit: CalendarUnit;
  /** A wall instant, see civil.ts. */
  anchor: number;
  /** The first k: 0 if the anchor itself is an occurrence. */
  from: 0 | 1;
  timezone: string;
  dst?: Dst;
}

export function calendarIntervalSearch(interval: CalendarInterval): WallSearch {
  const { unit, every, anchor, from } = interval;
  const { wallOf, lastUpTo } =
    unit === "day" || unit === "week"
      ? daysApart(anchor, unit === "week" ? every * 7 : every)
      : monthsApart(anchor, unit === "year" ? every * 12 : every);
  return {
    atOrAfter(wall) {
      const last = lastUpTo(wall);
      return wallOf(Math.max(from, wallOf(last) === wall ? last : last + 1));
    },
    atOrBefore(wall) {
      const last = lastUpTo(wall);
      return last < from ? null : wallOf(last);
    },
  };
}

interface Steps {
  wallOf(k: number): number;
  /** The last k whose wall time is at or before this one. */
  lastUpTo(wall: number): number;
}

function daysApart(anchor: number, days: number): Steps {
  const period = days * MS_PER_DAY;
  return {
    wallOf: (k) => anchor + k * period,
    lastUpTo: (wall) => Math.floor((wall - anchor) / period),
  };
}

function monthsApart(anchor: number, months: number): Steps {
  const anchorDays = Math.floor(anchor / MS_PER_DAY);
  const timeOfDay = anchor - anchorDays * MS_PER_DAY;
  const { year, month, day } = civilFromDays(anchorDays);
  const anchorMonth = year * 12 + month - 1;
  const wallOf = (k: number) => {
    const index = anchorMonth + k * months;
    const inYear = Math.floor(index / 12);
    const inMonth = index - inYear * 12 + 1;
    const days = daysFromCivil(inYear, inMonth, Math.min(day, daysInMonth(inYear, inMonth)));
    return days * MS_PER_DAY + timeOfDay;
  };
  const lastUpTo = (wall: number) => {
    const at = civilFromDays(Math.floor(wall / MS_PER_DAY));
    const k = Math.floor((at.year * 12 + at.month - 1 - anchorMonth) / months);
    return wallOf(k) <= wall ? k : k - 1;
  };
  return { wallOf, lastUpTo };
}
