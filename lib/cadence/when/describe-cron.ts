import type { CronFields, DayField } from "../cron/cron-field.ts";
import type { SpecialDay } from "../cron/cron-special.ts";
import { runsOf } from "../cron/cron-text.ts";

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

/**
 * Up to this many times of day are listed one by one. More are described by hours, minutes and
 * seconds.
 */
const TIMES_MAX = 4;

/** A cron expression in plain English: `at 09:00 on Monday to Friday`. */
export function describeCron(fields: CronFields): string {
  const parts = [describeTime(fields), describeDays(fields)];
  if (fields.months.length < 12)
    parts.push(`in ${runs(fields.months, (month) => monthWords[month - 1] ?? "")}`);
  if (fields.years !== null) parts.push(`in ${runs(fields.years, String)}`);
  return parts.filter((part) => part !== "").join(" ");
}

function fewTimes({ seconds, minutes, hours }: CronFields): boolean {
  return seconds.length * minutes.length * hours.length <= TIMES_MAX;
}

function describeTime(fields: CronFields): string {
  const { seconds, minutes, hours } = fields;
  const onTheMinute = seconds.length === 1 && seconds[0] === 0;
  if (fewTimes(fields)) {
    const times = hours.flatMap((hour) =>
      minutes.flatMap((minute) =>
        seconds.map((second) => [hour, minute, ...(onTheMinute ? [] : [second])].map(twoDigits).join(":")),
      ),
    );
    return `at ${listed(times)}`;
  }
  if (onTheMinute) return describeMinutes(fields);
  const second = oneOrEvery("second", seconds);
  return minutes.length === 60 && hours.length === 24 && evenStep(seconds, 60) !== null
    ? second
    : `${second}, ${describeMinutes(fields)}`;
}

function describeMinutes({ minutes, hours }: CronFields): string {
  const every = oneOrEvery("minute", minutes);
  if (hours.length === 24) return evenStep(minutes, 60) === null ? `${every} of every hour` : every;
  const hourStep = minutes.length === 1 ? evenStep(hours, 24) : null;
  if (hourStep !== null && hours.length > 1) return `${every} of every ${ordinal(hourStep)} hour`;
  const step = longStep(hours);
  if (step !== null) return `${every} of every ${ordinal(step)} hour ${fromTo(hours, twoDigits)}`;
  return `${every} of the ${hours.length === 1 ? "hour" : "hours"} ${runs(hours, twoDigits)}`;
}

/**
 * `at minute 5`, `every minute`, `every 15 minutes`, `at minutes 1 to 5 and 30`, `at every 7th
 * minute from 0 to 56`
 */
function oneOrEvery(unit: "second" | "minute", values: readonly number[]): string {
  if (values.length === 1) return `at ${unit} ${values[0]}`;
  const even = evenStep(values, 60);
  if (even !== null) return even === 1 ? `every ${unit}` : `every ${even} ${unit}s`;
  const step = longStep(values);
  return step === null
    ? `at ${unit}s ${runs(values, String)}`
    : `at every ${numbered(step)} ${unit} ${fromTo(values, String)}`;
}

function describeDays(fields: CronFields): string {
  const { days, weekdays, needsBoth } = fields;
  if (days === null && weekdays === null) return fewTimes(fields) ? "every day" : "";
  const ofMonth = days === null || days.values.length === 0 ? [] : [describeMonthDays(days.values)];
  const ofWeek =
    weekdays === null || weekdays.values.length === 0
      ? []
      : [`on ${runs(weekOf(weekdays.values), weekdayWord)}`];
  const specialDays = describeSpecials(days);
  const specialWeekdays = describeSpecials(weekdays);
  if (!needsBoth) return [...ofMonth, ...ofWeek, ...specialDays, ...specialWeekdays].join(" or ");
  return `${[...ofMonth, ...specialDays].join(" or ")}, if also ${[...ofWeek, ...specialWeekdays].join(" or ")}`;
}

function describeMonthDays(values: readonly number[]): string {
  const step = longStep(values);
  return step === null
    ? `on ${values.length === 1 ? "day" : "days"} ${runs(values, String)} of the month`
    : `on every ${ordinal(step)} day of the month ${fromTo(values, String)}`;
}

function describeSpecials(field: DayField | null): string[] {
  return (field?.specials ?? []).map((special) => `on the ${describeSpecial(special)} of the month`);
}

function describeSpecial(special: SpecialDay): string {
  switch (special.kind) {
    case "beforeLast":
      if (special.days === 0) return "last day";
      return `${special.days === 1 ? "day" : `${ordinal(special.days)} day`} before the last`;
    case "lastWorkday":
      return "last Monday-to-Friday";
    case "nearestWorkday":
      return `Monday-to-Friday nearest day ${special.day}`;
    case "nth":
      return `${ordinal(special.nth)} ${weekdayWord(special.weekday)}`;
    case "lastOf":
      return `last ${weekdayWord(special.weekday)}`;
  }
}

function weekdayWord(day: number): string {
  return weekdayWords[day % 7] ?? "";
}

/** Orders days from Monday on, with Sunday as the seventh day. */
function weekOf(weekdays: readonly number[]): number[] {
  return weekdays.map((day) => (day === 0 ? 7 : day)).sort((a, b) => a - b);
}

/** The step n if the values are `0, n, 2n …` up to `size`, and n divides `size`; otherwise null. */
function evenStep(values: readonly number[], size: number): number | null {
  const step = size / values.length;
  return Number.isInteger(step) && values.every((value, index) => value === index * step) ? step : null;
}

/**
 * The distance between neighbours if there are many values, all at the same distance of more than
 * 1; otherwise null.
 */
function longStep(values: readonly number[]): number | null {
  const [first = 0, second = 0] = values;
  const step = second - first;
  const even = values.every((value, index) => value === first + index * step);
  return values.length > TIMES_MAX && step > 1 && even ? step : null;
}

function fromTo(values: readonly number[], word: (value: number) => string): string {
  return `from ${word(values[0] ?? 0)} to ${word(values.at(-1) ?? 0)}`;
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
  return ["", "first", "second", "third", "fourth", "fifth"][value] ?? numbered(value);
}

/** `2nd`: before the word "second", an ordinal in letters would be misread. */
function numbered(value: number): string {
  const teens = value > 10 && value < 14;
  return `${value}${(teens ? "" : ["th", "st", "nd", "rd"][value % 10]) || "th"}`;
}
