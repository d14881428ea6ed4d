import { nicknames } from "../../../cadence/when/parse-cron.ts";
import type { StructuredCalendar, TemporalRange, WrittenCalendar } from "./temporal-shapes.ts";

/** A calendar of Temporal as cron, or why it has no equal. */
export type CalendarWhen = { ok: true; when: string } | { ok: false; fault: string };

/** The fields of a calendar as texts of cron; `*` restricts nothing. */
interface CalendarTexts {
  second: string;
  minute: string;
  hour: string;
  dayOfMonth: string;
  month: string;
  year: string;
  dayOfWeek: string;
}

/** A calendar as `temporal schedule describe` prints it. Fields that are missing have defaults. */
export function structuredWhen(calendar: StructuredCalendar): CalendarWhen {
  return cronOf({
    second: rangesText(calendar.second, 0, 59) ?? "0",
    minute: rangesText(calendar.minute, 0, 59) ?? "0",
    hour: rangesText(calendar.hour, 0, 23) ?? "0",
    dayOfMonth: rangesText(calendar.dayOfMonth, 1, 31) ?? "*",
    month: rangesText(calendar.month, 1, 12) ?? "*",
    year: rangesText(calendar.year, 2_000, 2_100) ?? "*",
    dayOfWeek: rangesText(calendar.dayOfWeek, 0, 6) ?? "*",
  });
}

/** A calendar as it is written for `temporal schedule create --calendar`. */
export function writtenWhen(calendar: WrittenCalendar): CalendarWhen {
  const { second, minute, hour, dayOfMonth, month, year, dayOfWeek } = calendar;
  return cronOf({
    second: written(second, "0"),
    minute: written(minute, "0"),
    hour: written(hour, "0"),
    dayOfMonth: written(dayOfMonth, "*"),
    month: withNumbers(written(month, "*"), monthNames, 3),
    year: written(year, "*"),
    // A step without an end goes up to 7 in Temporal, which is Sunday.
    dayOfWeek: withNumbers(written(dayOfWeek, "*"), weekdayNames, 2).replace(/(^|,)(\d)\/(?=\d)/g, "$1$2-7/"),
  });
}

/** Cron of Temporal: five fields, a sixth is the year, and of seven the first is the second. */
export function temporalCron(text: string): CalendarWhen {
  const words = (nicknames.get(text) ?? text).split(/\s+/);
  if (words.length < 5 || words.length > 7)
    return { ok: false, fault: `its cron ${JSON.stringify(text)} does not have five to seven fields` };
  const [second, minute, hour, dayOfMonth, month, dayOfWeek, year] =
    words.length === 7 ? words : ["0", ...words];
  return writtenWhen({ second, minute, hour, dayOfMonth, month, dayOfWeek, year });
}

/** In Temporal a day has to match both day fields, which a `&` asks for here. */
function cronOf(texts: CalendarTexts): CalendarWhen {
  const { second, minute, hour, dayOfMonth, month, year, dayOfWeek } = texts;
  const time = second === "0" ? `${minute} ${hour}` : `${second} ${minute} ${hour}`;
  const needsBoth = dayOfMonth !== "*" && dayOfWeek !== "*";
  if (year === "*")
    return { ok: true, when: `${time} ${dayOfMonth} ${month} ${dayOfWeek}${needsBoth ? "&" : ""}` };
  if (needsBoth || second !== "0")
    return {
      ok: false,
      fault: "a calendar with years takes here neither seconds nor both day fields: split it",
    };
  const isByWeek = dayOfWeek !== "*";
  const day = isByWeek ? "?" : dayOfMonth;
  // With years, days of the week count from 1 = Sunday, as AWS writes them.
  const week = isByWeek ? dayOfWeek.replace(/\d+(?=[-,/]|$)/g, raisedUnlessStep) : "?";
  return { ok: true, when: `cron(${minute} ${hour} ${day} ${month} ${week} ${year})` };
}

function raisedUnlessStep(number: string, at: number, whole: string): string {
  return whole[at - 1] === "/" ? number : String((Number(number) % 7) + 1);
}

/** Null without a range. */
function rangesText(ranges: readonly TemporalRange[], first: number, last: number): string | null {
  if (ranges.length === 0) return null;
  const items = ranges.map(({ start, end, step }) => {
    if (end <= start) return String(start);
    const by = step > 1 ? `/${step}` : "";
    return start === first && end === last ? `*${by}` : `${start}-${end}${by}`;
  });
  return items.includes("*") ? "*" : items.join(",");
}

const monthNames = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const weekdayNames = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

function written(text: string | undefined, byDefault: string): string {
  const trimmed = (text ?? "").trim();
  if (trimmed === "") return byDefault;
  return trimmed.split(",").some((item) => /^\*(\/0*1)?$/.test(item)) ? "*" : trimmed;
}

/** Temporal takes the beginnings of names, which Carillon does not. */
function withNumbers(text: string, names: readonly string[], lettersMin: number): string {
  return text.replace(/[a-z]+/gi, (word) => {
    const index = names.findIndex((name) => name.startsWith(word.toLowerCase()));
    if (index === -1 || word.length < lettersMin) return word;
    return String(names.length === 12 ? index + 1 : index);
  });
}
