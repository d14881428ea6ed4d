import { civilFromDays, daysFromCivil, daysInMonth, MS_PER_DAY, weekdayOfDays } from "./civil.ts";
import type { CronFields } from "./cron-fields.ts";

/**
 * Finds the wall times that match an expression, without any time zone. Both ends are inclusive, results are wall instants
 * (see civil.ts), null says that there is none within a whole cycle of the calendar.
 */
export interface CronSearch {
  atOrAfter(wall: number): number | null;
  atOrBefore(wall: number): number | null;
}

const MS_PER_MINUTE = 60_000;
const MINUTES_PER_DAY = 1_440;

/** The calendar repeats after 400 years, so what was not found in as many months never comes. */
const MONTHS_MAX = 4_800;

export function cronSearch(fields: CronFields): CronSearch {
  const times = timeOfDaySearch(fields);
  const daysOf = dayMasks(fields);
  const months = new Set(fields.months);

  /** The first matching day at or after a day, in days since 1970. */
  function dayAtOrAfter(days: number): number | null {
    let { year, month, day } = civilFromDays(days);
    for (let step = 0; step < MONTHS_MAX; step += 1) {
      if (months.has(month)) {
        const left = daysOf(year, month) & (-1 << day);
        if (left !== 0) return daysFromCivil(year, month, lowestBit(left));
      }
      day = 1;
      month += 1;
      if (month > 12) {
        month = 1;
        year += 1;
      }
    }
    return null;
  }

  function dayAtOrBefore(days: number): number | null {
    let { year, month, day } = civilFromDays(days);
    for (let step = 0; step < MONTHS_MAX; step += 1) {
      if (months.has(month)) {
        const left = daysOf(year, month) & ~(-2 << day);
        if (left !== 0) return daysFromCivil(year, month, highestBit(left));
      }
      day = 31;
      month -= 1;
      if (month < 1) {
        month = 12;
        year -= 1;
      }
    }
    return null;
  }

  return {
    atOrAfter(wall) {
      const minute = Math.ceil(wall / MS_PER_MINUTE);
      const today = Math.floor(minute / MINUTES_PER_DAY);
      const day = dayAtOrAfter(today);
      if (day === null) return null;
      if (day > today) return wallOf(day, times.first);
      const time = times.atOrAfter(minute - today * MINUTES_PER_DAY);
      if (time >= 0) return wallOf(day, time);
      const later = dayAtOrAfter(today + 1);
      return later === null ? null : wallOf(later, times.first);
    },
    atOrBefore(wall) {
      const minute = Math.floor(wall / MS_PER_MINUTE);
      const today = Math.floor(minute / MINUTES_PER_DAY);
      const day = dayAtOrBefore(today);
      if (day === null) return null;
      if (day < today) return wallOf(day, times.last);
      const time = times.atOrBefore(minute - today * MINUTES_PER_DAY);
      if (time >= 0) return wallOf(day, time);
      const earlier = dayAtOrBefore(today - 1);
      return earlier === null ? null : wallOf(earlier, times.last);
    },
  };
}

function wallOf(day: number, minuteOfDay: number): number {
  return day * MS_PER_DAY + minuteOfDay * MS_PER_MINUTE;
}

/** Bit n of a mask is day n of the month; bit 0 stays empty. */
function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}

function highestBit(mask: number): number {
  return 31 - Math.clz32(mask);
}

/** The matching days of a month as bits, from masks made once: the weekdays' days depend only on what day the month begins. */
function dayMasks(fields: CronFields): (year: number, month: number) => number {
  const { days, weekdays } = fields;
  const everyDay = days === null && weekdays === null;
  const dayMask = (days ?? []).reduce((mask, day) => mask | (1 << day), 0);
  const weekdayMasks = [0, 1, 2, 3, 4, 5, 6].map((first) => {
    let mask = 0;
    for (let day = 1; day <= 31; day += 1) {
      if (weekdays?.includes((first + day - 1) % 7)) mask |= 1 << day;
    }
    return mask;
  });
  return (year, month) => {
    const length = daysInMonth(year, month);
    const inMonth = length === 31 ? -2 : (1 << (length + 1)) - 2;
    if (everyDay) return inMonth;
    if (weekdays === null) return dayMask & inMonth;
    const first = weekdayOfDays(daysFromCivil(year, month, 1));
    return (dayMask | (weekdayMasks[first] ?? 0)) & inMonth;
  };
}

interface TimeOfDaySearch {
  first: number;
  last: number;
  /** Minutes of the day; -1 when there is none. */
  atOrAfter(minuteOfDay: number): number;
  atOrBefore(minuteOfDay: number): number;
}

function timeOfDaySearch({ hours, minutes }: CronFields): TimeOfDaySearch {
  const hourUp = nearestUp(hours, 24);
  const hourDown = nearestDown(hours, 24);
  const minuteUp = nearestUp(minutes, 60);
  const minuteDown = nearestDown(minutes, 60);
  const firstMinute = minutes[0] ?? 0;
  const lastMinute = minutes.at(-1) ?? 59;
  return {
    first: (hours[0] ?? 0) * 60 + firstMinute,
    last: (hours.at(-1) ?? 23) * 60 + lastMinute,
    atOrAfter(minuteOfDay) {
      const hour = Math.floor(minuteOfDay / 60);
      const up = hourUp[hour] ?? -1;
      if (up !== hour) return up < 0 ? -1 : up * 60 + firstMinute;
      const minute = minuteUp[minuteOfDay - hour * 60] ?? -1;
      if (minute >= 0) return hour * 60 + minute;
      const later = hourUp[hour + 1] ?? -1;
      return later < 0 ? -1 : later * 60 + firstMinute;
    },
    atOrBefore(minuteOfDay) {
      const hour = Math.floor(minuteOfDay / 60);
      const down = hourDown[hour] ?? -1;
      if (down !== hour) return down < 0 ? -1 : down * 60 + lastMinute;
      const minute = minuteDown[minuteOfDay - hour * 60] ?? -1;
      if (minute >= 0) return hour * 60 + minute;
      const earlier = hourDown[hour - 1] ?? -1;
      return earlier < 0 ? -1 : earlier * 60 + lastMinute;
    },
  };
}

/** For each position the nearest value at or above it, -1 where there is none. */
function nearestUp(values: readonly number[], size: number): Int8Array {
  const table = new Int8Array(size).fill(-1);
  for (const value of values.toReversed()) table.fill(value, 0, value + 1);
  return table;
}

/** For each position the nearest value at or below it, -1 where there is none. */
function nearestDown(values: readonly number[], size: number): Int8Array {
  const table = new Int8Array(size).fill(-1);
  for (const value of values) table.fill(value, value);
  return table;
}
