import { BoundedMap } from "../bounded-map.ts";
import type { Cadence } from "./cadence-kinds.ts";
import { compiledCron } from "./cron/cron.ts";
import { firesInDensestMinute } from "./densest-minute.ts";
import { daysFromCivil, MS_PER_DAY } from "./zone/civil.ts";

/** An average year of the Gregorian calendar. `carillon.per_year_of` has the same number. */
export const yearMs = 31_556_952_000;

const daysOfYear = yearMs / MS_PER_DAY;
const minuteMs = 60_000;

/**
 * The fires of a year that a quota counts: the occurrences of a year. A cadence with several fires
 * within a minute counts as if each minute were its densest one, if that is more. A rare crowd of fires
 * so takes as much room as a lasting one. The slot of the schedule is 0 if it has none.
 */
export function firesPerYear(cadence: Cadence, slotMs = 0): number {
  const most = firesInDensestMinute(cadence, slotMs);
  const average = occurrencesPerYear(cadence);
  return most > 1 ? Math.max(average, Math.floor((most * yearMs) / minuteMs)) : average;
}

/**
 * The number of occurrences in a year, rounded down, by the form of the cadence alone: of a cron
 * expression in its busiest year, else in an average one. A calendar and the ends of a window do not
 * lower it. A single instant has none.
 */
function occurrencesPerYear(cadence: Cadence): number {
  switch (cadence.kind) {
    case "once":
    case "unreadable":
      return 0;
    case "interval":
      return Math.floor(yearMs / cadence.everyMs);
    case "cron":
      return cronFires(cadence.expression);
    case "calendar-interval":
      return Math.floor(daysOfYear / (cadence.every * daysOfUnit[cadence.unit]));
    case "union":
      return cadence.of.reduce((sum, member) => sum + occurrencesPerYear(member), 0);
    case "calendared":
    case "window":
      return occurrencesPerYear(cadence.of);
  }
}

const daysOfUnit = { day: 1, week: 7, month: daysOfYear / 12, year: daysOfYear } as const;

function cronFires(expression: string): number {
  const { hours, minutes, seconds } = compiledCron(expression).times;
  return hours.length * minutes.length * seconds.length * daysIn(onDaysOf(expression));
}

/** The same days at midnight: `0 0 1 * *` of `30 9 1 * *`, or of the form with years in brackets. */
function onDaysOf(expression: string): string {
  if (!expression.startsWith("cron(")) return ["0 0", ...expression.split(" ").slice(-3)].join(" ");
  const [, , ...days] = expression.split(" ");
  return ["cron(0 0", ...days].join(" ");
}

/** Leap years repeat within as many years, and the century that leaves one out is far. */
const spanYears = 4;
const spanFrom = 2_025;

/** Counting takes half a millisecond, and few expressions differ in their days. */
const counted = new BoundedMap<string, number>(5_000);

/** The days of the busiest of four years, the first of which has an occurrence. */
function daysIn(expression: string): number {
  const known = counted.get(expression);
  if (known !== undefined) return known;
  const search = compiledCron(expression);
  const first = search.atOrAfter(beginOf(spanFrom));
  const from = first === null ? spanFrom : new Date(first).getUTCFullYear();
  const years = Array.from({ length: spanYears }, (_, index) => from + index);
  const days = Math.max(
    ...years.map((year) => search.countBetween(beginOf(year), beginOf(year + 1), Number.POSITIVE_INFINITY)),
  );
  counted.set(expression, days);
  return days;
}

/** As a wall instant. */
function beginOf(year: number): number {
  return daysFromCivil(year, 1, 1) * MS_PER_DAY;
}
