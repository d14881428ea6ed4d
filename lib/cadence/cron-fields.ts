import { type Field, readField, type Word } from "./cron-field.ts";
import { dayShape, hourShape, minuteShape, monthShape, sizeOf, weekdayShape } from "./cron-shape.ts";
import { timeText, valuesText } from "./cron-text.ts";
import { invalid, unsupported, type WhenFault } from "./fault.ts";

/** What a cron expression says, read and checked: the values of each field in rising order. */
export interface CronFields {
  ok: true;
  minutes: readonly number[];
  hours: readonly number[];
  /** 1–31, or null where the field does not restrict. */
  days: readonly number[] | null;
  months: readonly number[];
  /** 0 (Sunday) – 6, or null where the field does not restrict. */
  weekdays: readonly number[] | null;
  /** True without `*` or `/` in minute and hour: clock changes treat such an expression apart. */
  fixedTime: boolean;
  /** One text for all spellings of the same meaning. */
  normal: string;
}

const FIVE = "A cron expression has five fields: minute hour day-of-month month day-of-week";

/** Reads `text`, which begins at `start` of what the caller wrote; positions of faults count from there. */
export function readCronFields(text: string, start: number): CronFields | WhenFault {
  const words: Word[] = [...text.matchAll(/[^ \t]+/g)].map(({ 0: word, index }) => ({
    text: word,
    at: start + index,
  }));
  const [minuteWord, hourWord, dayWord, monthWord, weekdayWord, sixth] = words;
  if (!minuteWord || !hourWord || !dayWord || !monthWord || !weekdayWord) {
    return invalid(
      start + text.length,
      `${FIVE}; here ${words.length === 1 ? "is" : "are"} ${words.length}.`,
    );
  }
  if (sixth && words.length > 6) return invalid(sixth.at, `${FIVE}; here are ${words.length}.`);
  if (sixth) return unsupported(sixth.at, `${FIVE}; a sixth field, for seconds, is not available yet.`);

  const minute = readField(minuteWord, minuteShape);
  if (!minute.ok) return minute;
  const hour = readField(hourWord, hourShape);
  if (!hour.ok) return hour;
  const day = readField(dayWord, dayShape);
  if (!day.ok) return day;
  const month = readField(monthWord, monthShape);
  if (!month.ok) return month;
  const weekday = readField(weekdayWord, weekdayShape);
  if (!weekday.ok) return weekday;

  if (neverFires(day, month, weekday)) {
    return invalid(dayWord.at, "This never fires: none of these months has any of these days.");
  }
  return assemble({ minute, hour, day, month, weekday });
}

interface Read {
  minute: Field;
  hour: Field;
  day: Field;
  month: Field;
  weekday: Field;
}

function assemble({ minute, hour, day, month, weekday }: Read): CronFields {
  // Either of the two day fields is enough; so where one of them takes every day, neither restricts.
  const everyDay =
    (!day.open && day.values.length === sizeOf(dayShape)) ||
    (!weekday.open && weekday.values.length === sizeOf(weekdayShape));
  const days = day.open || everyDay ? null : day.values;
  const weekdays = weekday.open || everyDay ? null : weekday.values;
  const normal = [
    timeText(minute, hour),
    days === null ? "*" : valuesText(days),
    month.values.length === sizeOf(monthShape) ? "*" : valuesText(month.values),
    weekdays === null ? "*" : valuesText(weekdays),
  ].join(" ");
  const fixedTime = !minute.stepped && !hour.stepped;
  return {
    ok: true,
    minutes: minute.values,
    hours: hour.values,
    days,
    months: month.values,
    weekdays,
    fixedTime,
    normal,
  };
}

const longestOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A day of week comes in every month; a day of month may come in none of those that are named. */
function neverFires(day: Field, month: Field, weekday: Field): boolean {
  const [first = 1] = day.values;
  return weekday.open && month.values.every((value) => first > (longestOfMonth[value - 1] ?? 31));
}
