/**
 * Calendar arithmetic on plain numbers, in the proleptic Gregorian calendar, since a search must
 * not make a Date for each step. A "wall" instant is a wall-clock time written as the epoch
 * milliseconds that it would have in UTC.
 */
export const MS_PER_DAY = 86_400_000;

export interface CivilDay {
  year: number;
  /** 1–12 */
  month: number;
  /** 1–31 */
  day: number;
}

/**
 * Days from 0000-03-01 to 1970-01-01. Years are counted from March, so that the leap day comes
 * last.
 */
const EPOCH_SHIFT = 719_468;
const MEAN_YEAR_DAYS = 365.2425;

function daysBeforeMarchYear(year: number): number {
  return 365 * year + Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
}

/** Days since 1970-01-01. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const marchMonth = month > 2 ? month - 3 : month + 9;
  // From March on, months have 31 30 31 30 31 | 31 30 31 30 31 | 31 … days: 153 in every five.
  return daysBeforeMarchYear(marchYear) + Math.floor((153 * marchMonth + 2) / 5) + day - 1 - EPOCH_SHIFT;
}

export function civilFromDays(days: number): CivilDay {
  const shifted = days + EPOCH_SHIFT;
  let marchYear = Math.floor(shifted / MEAN_YEAR_DAYS);
  if (daysBeforeMarchYear(marchYear + 1) <= shifted) marchYear += 1;
  else if (daysBeforeMarchYear(marchYear) > shifted) marchYear -= 1;
  const dayOfYear = shifted - daysBeforeMarchYear(marchYear);
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  return marchMonth < 10
    ? { year: marchYear, month: marchMonth + 3, day }
    : { year: marchYear + 1, month: marchMonth - 9, day };
}

/** 0 is Sunday. 1970-01-01 was a Thursday. */
export function weekdayOfDays(days: number): number {
  return (((days + 4) % 7) + 7) % 7;
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** `2026-12-01T09:00:00Z`, with milliseconds only if they are not zero. */
export function isoInstant(instant: number): string {
  return new Date(instant).toISOString().replace(".000Z", "Z");
}
