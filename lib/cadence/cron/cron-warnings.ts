import { daysInMonth } from "../zone/civil.ts";
import type { CronFields, DayField } from "./cron-field.ts";
import { weekdayShape } from "./cron-shape.ts";
import { type SpecialDay, specialDayOf, specialText } from "./cron-special.ts";

/** Warnings about parts of an expression that often do not mean what their writer expects. */
export function cronWarnings(fields: CronFields): string[] {
  const { days, weekdays, needsBoth, seconds } = fields;
  const warnings: string[] = [];
  if (days !== null && weekdays !== null && !needsBoth) {
    warnings.push(
      "Day-of-month and day-of-week are both restricted: it runs on the days that either of them matches; a & after day-of-week, as in 5&, asks for both.",
    );
  }
  if (seconds.length > 1) warnings.push("It runs more often than once a minute.");
  if (days !== null) warnings.push(...missingDays(days, fields.months));
  for (const special of weekdays?.specials ?? []) {
    if (special.kind === "nth" && special.nth === 5) {
      warnings.push(
        `${specialText(special, weekdayShape)} is not in every month: some have only four of that weekday.`,
      );
    }
  }
  return warnings;
}

/**
 * Up to this many listed days get a warning if some months lack them. In a longer list it is
 * obvious that some months lack the last days.
 */
const NAMED_MAX = 4;

/** Warnings about days that some of the months do not have: nothing runs in their place. */
function missingDays({ values, specials }: DayField, months: readonly number[]): string[] {
  const warnings: string[] = [];
  const named = values.length <= NAMED_MAX ? values : [];
  const late = named.filter((day) => months.some((month) => day > shortest(month)));
  const [only] = late;
  if (months.length === 1 && months[0] === 2 && only === 29) {
    warnings.push("29 February is in leap years only.");
  } else if (late.length > 0) {
    const words = late.map(dayWords).join(" and ");
    warnings.push(`${words.charAt(0).toUpperCase()}${words.slice(1)}; L is the last day of every month.`);
  }
  for (const special of specials) {
    if (months.some((month) => !exists(special, shortest(month)))) {
      const instead = special.kind === "nearestWorkday" ? "; LW is the last workday of every month" : "";
      warnings.push(
        `${specialText(special, weekdayShape)} is not in every month: it does not run in those that are too short${instead}.`,
      );
    }
  }
  return warnings;
}

function dayWords(day: number): string {
  if (day === 31) return "day 31 runs only in months with 31 days";
  return day === 30 ? "day 30 does not run in February" : "day 29 runs in February only in leap years";
}

/** The length of the month in a common year. */
function shortest(month: number): number {
  return daysInMonth(2001, month);
}

function exists(special: SpecialDay, length: number): boolean {
  return special.kind === "nth" || specialDayOf(special, 0, length) !== null;
}
