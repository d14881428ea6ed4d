import { invalid, type WhenFault } from "../fault.ts";
import { type CronFields, type DayField, type Field, readField, type Word } from "./cron-field.ts";
import { cronSearch } from "./cron-search.ts";
import {
  awsWeekdayShape,
  dayShape,
  type FieldShape,
  hourShape,
  minuteShape,
  monthShape,
  secondShape,
  sizeOf,
  weekdayShape,
  yearShape,
} from "./cron-shape.ts";
import { specialText } from "./cron-special.ts";
import { timeText, valuesText } from "./cron-text.ts";

const FIVE =
  "A cron expression has five fields, minute hour day-of-month month day-of-week, or six with the second first";
const AWS = "cron(…) has six fields: minute hour day-of-month month day-of-week year";

/**
 * Reads an expression of five or six fields or, beginning with `cron(`, one of AWS. `text` begins
 * at `start` of the caller's text; positions of faults are positions in the caller's text. `key`
 * determines the value of an `H`. An expression in normal form has no `H`, and so needs no key.
 */
export function readCronFields(text: string, start: number, key = ""): CronFields | WhenFault {
  if (/^cron\(/i.test(text)) return readAwsFields(text, start, key);
  const words = wordsOf(text, start);
  const surplus = words[6];
  if (surplus) return invalid(surplus.at, `${FIVE}; here are ${words.length}.`);
  const [second, minute, hour, day, month, weekday] =
    words.length === 6 ? words : [{ text: "0", at: start }, ...words];
  if (!second || !minute || !hour || !day || !month || !weekday) {
    return invalid(
      start + text.length,
      `${FIVE}; here ${words.length === 1 ? "is" : "are"} ${words.length}.`,
    );
  }
  const year = { text: "*", at: start };
  const needsBoth = day.text.endsWith("&") || weekday.text.endsWith("&");
  const unmarked = {
    second,
    minute,
    hour,
    day: withoutMark(day),
    month,
    weekday: withoutMark(weekday),
    year,
  };
  return readWords(unmarked, { weekdays: weekdayShape, key, needsBoth });
}

function withoutMark({ text, at }: Word): Word {
  return { text: text.replace(/&$/, ""), at };
}

/**
 * The position of the parenthesis that closes the first one, with pairs perhaps inside; -1 if it is
 * not closed.
 */
function closingOf(text: string): number {
  let open = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "(") open += 1;
    if (text[at] === ")") open -= 1;
    if (text[at] === ")" && open === 0) return at;
  }
  return -1;
}

function readAwsFields(text: string, start: number, key: string): CronFields | WhenFault {
  const bodyAt = "cron(".length;
  const end = closingOf(text);
  if (end < 0) return invalid(start + text.length, "The closing ) of cron(…) is missing.");
  if (end < text.length - 1) return invalid(start + end + 1, "Nothing can follow the closing ) of cron(…).");
  const words = wordsOf(text.slice(bodyAt, end), start + bodyAt);
  const [minute, hour, day, month, weekday, year, surplus] = words;
  if (surplus) return invalid(surplus.at, `${AWS}; here are ${words.length}.`);
  if (!minute || !hour || !day || !month || !weekday || !year) {
    return invalid(start + end, `${AWS}; here ${words.length === 1 ? "is" : "are"} ${words.length}.`);
  }
  if ((day.text === "?") === (weekday.text === "?")) {
    return invalid(weekday.at, "In cron(…) either day-of-month or day-of-week is ?, and only one of them.");
  }
  // Only AWS gives a bare L in day-of-week a meaning: the last day of the week.
  const sevenForL = /^L$/i.test(weekday.text) ? { ...weekday, text: "7" } : weekday;
  const second = { text: "0", at: start };
  const expression = { second, minute, hour, day, month, weekday: sevenForL, year };
  return readWords(expression, { weekdays: awsWeekdayShape, key, needsBoth: false });
}

function wordsOf(text: string, start: number): Word[] {
  return [...text.matchAll(/[^ \t]+/g)].map(({ 0: word, index }) => ({ text: word, at: start + index }));
}

interface Expression<Part> {
  second: Part;
  minute: Part;
  hour: Part;
  day: Part;
  month: Part;
  weekday: Part;
  year: Part;
}

interface Dialect {
  weekdays: FieldShape;
  key: string;
  needsBoth: boolean;
}

function readWords(words: Expression<Word>, dialect: Dialect): CronFields | WhenFault {
  const { weekdays, key, needsBoth } = dialect;
  const second = readField(words.second, secondShape, key);
  if (!second.ok) return second;
  const minute = readField(words.minute, minuteShape, key);
  if (!minute.ok) return minute;
  const hour = readField(words.hour, hourShape, key);
  if (!hour.ok) return hour;
  const day = readField(words.day, dayShape, key);
  if (!day.ok) return day;
  const month = readField(words.month, monthShape, key);
  if (!month.ok) return month;
  const weekday = readField(words.weekday, weekdays, key);
  if (!weekday.ok) return weekday;
  const year = readField(words.year, yearShape, key);
  if (!year.ok) return year;
  const fields = assemble({ second, minute, hour, day, month, weekday, year }, needsBoth);
  if (cronSearch(fields).atOrAfter(0) !== null) return fields;
  const months = fields.years === null ? "these months" : "these months of these years";
  return invalid(words.day.at, `This never fires: none of ${months} has any of these days.`);
}

function assemble(fields: Expression<Field>, isMarked: boolean): CronFields {
  const { second, minute, hour, day, month, weekday, year } = fields;
  const takesAllDays = !day.open && day.values.length === sizeOf(dayShape);
  const takesAllWeekdays = !weekday.open && weekday.values.length === sizeOf(weekdayShape);
  // Where a day that one of the two fields matches is enough, a field that takes every day makes
  // the other one void; where both have to match, it only restricts nothing itself.
  const everyDay = !isMarked && (takesAllDays || takesAllWeekdays);
  const days = day.open || takesAllDays || everyDay ? null : dayField(day);
  const weekdays = weekday.open || takesAllWeekdays || everyDay ? null : dayField(weekday);
  const needsBoth = isMarked && days !== null && weekdays !== null;
  const years = year.values.length === sizeOf(yearShape) ? null : year.values;
  const time = timeText({ second, minute, hour });
  const months = month.values.length === sizeOf(monthShape) ? "*" : valuesText(month.values);
  return {
    ok: true,
    seconds: second.values,
    minutes: minute.values,
    hours: hour.values,
    days,
    months: month.values,
    weekdays,
    needsBoth,
    years,
    fixedTime: !second.stepped && !minute.stepped && !hour.stepped,
    normal: normalText({ time, days, months, weekdays, needsBoth, years }),
  };
}

/** The field with its special days in a fixed order, each once. */
function dayField({ values, specials }: Field): DayField {
  const byText = new Map(specials.map((special) => [specialText(special, weekdayShape), special]));
  const inOrder = [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, special]) => special);
  return { values, specials: inOrder };
}

interface Texts {
  time: string;
  days: DayField | null;
  months: string;
  weekdays: DayField | null;
  needsBoth: boolean;
  years: readonly number[] | null;
}

/**
 * The normal form has the shape of AWS only if years are restricted: the other shapes have no field
 * for them.
 */
function normalText({ time, days, months, weekdays, needsBoth, years }: Texts): string {
  if (years === null) {
    const weekday = `${dayText(weekdays, weekdayShape)}${needsBoth ? "&" : ""}`;
    return [time, dayText(days, weekdayShape), months, weekday].join(" ");
  }
  const day = days === null && weekdays !== null ? "?" : dayText(days, awsWeekdayShape);
  const weekday =
    weekdays === null
      ? "?"
      : dayText({ ...weekdays, values: weekdays.values.map((value) => value + 1) }, awsWeekdayShape);
  return `cron(${time} ${day} ${months} ${weekday} ${valuesText(years)})`;
}

function dayText(field: DayField | null, weekdays: FieldShape): string {
  if (field === null) return "*";
  const texts = field.specials.map((special) => specialText(special, weekdays));
  return [valuesText(field.values), ...texts].filter((text) => text !== "").join(",");
}
