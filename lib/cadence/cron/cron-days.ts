import { civilFromDays, daysFromCivil, daysInMonth, weekdayOfDays } from "../zone/civil.ts";
import type { CronFields, DayField } from "./cron-field.ts";
import { specialDayOf } from "./cron-special.ts";

/** Finds the days that match an expression. Days count from 1970-01-01; null means none. */
export interface DaySearch {
  atOrAfter(days: number): number | null;
  atOrBefore(days: number): number | null;
}

/**
 * The calendar repeats after 400 years, which have 4,800 months. A day that is not found within
 * them does not exist.
 */
const MONTHS_MAX = 4_800;

export function daySearch(fields: CronFields): DaySearch {
  const { years } = fields;
  const daysOf = monthMasks(fields);
  const months = new Set(fields.months);
  return {
    atOrAfter(days) {
      let { year, month, day } = civilFromDays(days);
      for (let step = 0; step < MONTHS_MAX; step += 1) {
        const yearFits = years === null || years.includes(year);
        if (yearFits && months.has(month)) {
          const left = daysOf(year, month) & (-1 << day);
          if (left !== 0) return daysFromCivil(year, month, lowestBit(left));
        }
        day = 1;
        month = yearFits && month < 12 ? month + 1 : 1;
        if (month === 1) year += 1;
      }
      return null;
    },
    atOrBefore(days) {
      let { year, month, day } = civilFromDays(days);
      for (let step = 0; step < MONTHS_MAX; step += 1) {
        const yearFits = years === null || years.includes(year);
        if (yearFits && months.has(month)) {
          const left = daysOf(year, month) & ~(-2 << day);
          if (left !== 0) return daysFromCivil(year, month, highestBit(left));
        }
        day = 31;
        month = yearFits && month > 1 ? month - 1 : 12;
        if (month === 12) year -= 1;
      }
      return null;
    },
  };
}

function lowestBit(mask: number): number {
  return 31 - Math.clz32(mask & -mask);
}

function highestBit(mask: number): number {
  return 31 - Math.clz32(mask);
}

/**
 * The matching days of a month as bits: bit n is day n, bit 0 stays empty. Which days are, say,
 * Mondays depends only on the weekday of the 1st, so the masks of weekdays are made once.
 */
function monthMasks({ days, weekdays, needsBoth }: CronFields): (year: number, month: number) => number {
  const everyDay = days === null && weekdays === null;
  const dayMask = (days?.values ?? []).reduce((mask, day) => mask | (1 << day), 0);
  const weekdayMasks = [0, 1, 2, 3, 4, 5, 6].map((first) => {
    let mask = 0;
    for (let day = 1; day <= 31; day += 1) {
      if (weekdays?.values.includes((first + day - 1) % 7)) mask |= 1 << day;
    }
    return mask;
  });
  const onlyDays = weekdays === null && days?.specials.length === 0;
  return (year, month) => {
    const length = daysInMonth(year, month);
    const inMonth = length === 31 ? -2 : (1 << (length + 1)) - 2;
    if (everyDay) return inMonth;
    if (onlyDays) return dayMask & inMonth;
    const first = weekdayOfDays(daysFromCivil(year, month, 1));
    const byDay = dayMask | specialMask(days, first, length);
    const byWeekday = (weekdayMasks[first] ?? 0) | specialMask(weekdays, first, length);
    return (needsBoth ? byDay & byWeekday : byDay | byWeekday) & inMonth;
  };
}

function specialMask(field: DayField | null, first: number, length: number): number {
  let mask = 0;
  for (const special of field?.specials ?? []) {
    const day = specialDayOf(special, first, length);
    if (day !== null) mask |= 1 << day;
  }
  return mask;
}
