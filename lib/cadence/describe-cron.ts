import type { CronFields } from "./cron-fields.ts";
import { runsOf } from "./cron-text.ts";

const weekdayWords = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const monthWords = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** More single times than this are told by their fields instead. */
const TIMES_MAX = 4;

/** A cron expression in plain English: `at 09:00 on Monday to Friday`. */
export function describeCron(fields: CronFields): string {
  const parts = [describeTime(fields), describeDays(fields)];
  if (fields.months.length < 12)
    parts.push(`in ${runs(fields.months, (month) => monthWords[month - 1] ?? "")}`);
  return parts.filter((part) => part !== "").join(" ");
}

function describeTime({ minutes, hours }: CronFields): string {
  const [minute = 0] = minutes;
  if (minutes.length * hours.length <= TIMES_MAX) {
    const times = hours.flatMap((hour) => minutes.map((each) => `${twoDigits(hour)}:${twoDigits(each)}`));
    return `at ${listed(times)}`;
  }
  const step = evenStep(minutes, 60);
  const every =
    minutes.length === 1
      ? `at minute ${minute}`
      : step !== null
        ? `every ${step === 1 ? "minute" : `${step} minutes`}`
        : `at minutes ${runs(minutes, String)}`;
  if (hours.length === 24) return minutes.length === 1 ? `${every} of every hour` : every;
  const hourStep = minutes.length === 1 ? evenStep(hours, 24) : null;
  if (hourStep !== null) return `${every} of every ${ordinal(hourStep)} hour`;
  return `${every} of the ${hours.length === 1 ? "hour" : "hours"} ${runs(hours, twoDigits)}`;
}

function describeDays({ days, weekdays, minutes, hours }: CronFields): string {
  if (days === null && weekdays === null) {
    return minutes.length * hours.length <= TIMES_MAX ? "every day" : "";
  }
  const both: string[] = [];
  if (days !== null) both.push(`on ${days.length === 1 ? "day" : "days"} ${runs(days, String)} of the month`);
  if (weekdays !== null) both.push(`on ${runs(weekOf(weekdays), (day) => weekdayWords[day % 7] ?? "")}`);
  return both.join(" or ");
}

/** Weeks are told from Monday on, with Sunday as their seventh day. */
function weekOf(weekdays: readonly number[]): number[] {
  return weekdays.map((day) => (day === 0 ? 7 : day)).sort((a, b) => a - b);
}

/** The step when the values are `0, n, 2n …` all round a circle of that size. */
function evenStep(values: readonly number[], size: number): number | null {
  const step = size / values.length;
  return Number.isInteger(step) && values.every((value, index) => value === index * step) ? step : null;
}

/** `1, 3 and 5 to 9` */
function runs(values: readonly number[], word: (value: number) => string): string {
  return listed(
    runsOf(values).flatMap(({ from, to }) =>
      to - from >= 2 ? [`${word(from)} to ${word(to)}`] : to > from ? [word(from), word(to)] : [word(from)],
    ),
  );
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

function ordinal(value: number): string {
  if (value === 1) return "";
  return value === 2 ? "second" : value === 3 ? "third" : `${value}th`;
}
