import { BoundedMap } from "../bounded-map.ts";
import type { Fault } from "../refusal.ts";
import { civilFromDays, daysFromCivil, daysInMonth, MS_PER_DAY, weekdayOfDays } from "./zone/civil.ts";
import { dateText } from "./zone/wall-text.ts";

export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

export type Weekday = (typeof weekdays)[number];

/**
 * The days that a named calendar excludes, in the zone of the schedule that refers to it. An entry
 * of `dates` and `except` is a day (`2026-12-25`), a day of every year (`12-25`), or a range of
 * either, both ends included (`2026-12-24..2027-01-02`, `12-24..01-02` over the turn of the year).
 */
export interface CalendarRules {
  dates: readonly string[];
  weekly: readonly Weekday[];
  /** Days that are allowed although a rule excludes them. */
  except?: readonly string[];
}

export type ReadCalendarRules = { ok: true; rules: CalendarRules } | { ok: false; faults: Fault[] };

export const calendarDatesMax = 2_000;
/** The limit in days of a range, and of a stretch of excluded days. */
export const stretchDaysMax = 3_660;

/** Every entry of a list may be wrong; an answer lists at most this many faults. */
const FAULTS_MAX = 100;
const YEAR_MIN = 1970;
const YEAR_MAX = 2199;
/**
 * A leap year, so that 29 February exists: a date of every year is stored as a day of this year.
 */
const LEAP_YEAR = 2000;
const DAYS_OF_LEAP_YEAR = 366;

const fieldNames: readonly string[] = ["dates", "weekly", "except"];

/** Reads rules from a caller's input. The entries come back sorted, each once. */
export function readCalendarRules(input: unknown): ReadCalendarRules {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return {
      ok: false,
      faults: [{ path: "", message: "takes an object with `dates`, `weekly` and `except`" }],
    };
  }
  const fields = new Map(Object.entries(input));
  const faults: Fault[] = [...fields.keys()]
    .filter((name) => !fieldNames.includes(name))
    .map((name) => ({ path: shortened(name), message: "is not a field here" }));
  const dates = readEntries(fields.get("dates"), "dates", faults);
  const except = readEntries(fields.get("except"), "except", faults);
  const weekly = readWeekly(fields.get("weekly"), faults);
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, FAULTS_MAX) };
  const rules = { dates, weekly, ...(except.length === 0 ? {} : { except }) };
  const closed = tooLongClosed(rules);
  if (closed === null) return { ok: true, rules };
  const message = `leave no day free for more than ${stretchDaysMax} days in a row, as around ${dateText(closed * MS_PER_DAY)}`;
  return { ok: false, faults: [{ path: "dates", message }] };
}

function readEntries(input: unknown, path: "dates" | "except", faults: Fault[]): string[] {
  const list = readList(input, path, faults);
  const entries = new Set<string>();
  for (const [index, item] of list.entries()) {
    const read = typeof item === "string" ? readDateEntry(item) : ALLOWED;
    if (typeof read === "string") faults.push({ path: `${path}[${index}]`, message: read });
    else entries.add(read.text);
  }
  return [...entries].sort();
}

function readWeekly(input: unknown, faults: Fault[]): Weekday[] {
  const list = readList(input, "weekly", faults);
  for (const [index, item] of list.entries()) {
    if (weekdays.some((name) => name === item)) continue;
    faults.push({ path: `weekly[${index}]`, message: `takes one of ${weekdays.join(", ")}` });
  }
  const weekly = weekdays.filter((name) => list.includes(name));
  if (weekly.length === weekdays.length) {
    faults.push({ path: "weekly", message: "excludes every day of the week: nothing could ever run" });
  }
  return weekly;
}

function readList(input: unknown, path: string, faults: Fault[]): unknown[] {
  if (input === undefined) return [];
  if (!Array.isArray(input)) {
    faults.push({ path, message: "takes a list" });
    return [];
  }
  if (input.length <= calendarDatesMax) return input;
  faults.push({ path, message: `takes at most ${calendarDatesMax} entries, has ${input.length}` });
  return [];
}

/**
 * `from` and `to` are days since 1970-01-01. In a yearly entry they are days of `LEAP_YEAR`, and
 * `to` is before `from` if the range runs over the turn of the year.
 */
interface DateEntry {
  text: string;
  yearly: boolean;
  from: number;
  to: number;
}

const ALLOWED =
  "takes a day (2026-12-25), a day of every year (12-25), or a range of either (2026-12-24..2027-01-02, 12-24..01-02)";
/** The form of an entry. It does not check that the days of the entry exist and are in order. */
export const dateEntryForm = /^(?:(\d{4})-)?(\d\d)-(\d\d)(?:\.\.(?:(\d{4})-)?(\d\d)-(\d\d))?$/;

/** The entry, or the message of its fault. */
function readDateEntry(text: string): DateEntry | string {
  const [whole, year, month, day, toYear, toMonth, toDay] = dateEntryForm.exec(text) ?? [];
  if (whole === undefined) return ALLOWED;
  const from = readDay(year, month, day);
  if (typeof from === "string") return from;
  const yearly = year === undefined;
  if (toMonth === undefined) return { text, yearly, from, to: from };
  if (yearly !== (toYear === undefined)) return "takes a range whose ends both name a year, or neither";
  const to = readDay(toYear, toMonth, toDay);
  if (typeof to === "string") return to;
  if (!yearly && to < from) return "ends before it begins";
  if (to - from >= stretchDaysMax) return `is a range of more than ${stretchDaysMax} days`;
  const [first = text] = text.split("..");
  return { text: to === from ? first : text, yearly, from, to };
}

function readDay(yearText: string | undefined, monthText = "", dayText = ""): number | string {
  const year = yearText === undefined ? LEAP_YEAR : Number(yearText);
  const month = Number(monthText);
  const day = Number(dayText);
  if (year < YEAR_MIN || year > YEAR_MAX) return `takes years from ${YEAR_MIN} to ${YEAR_MAX}`;
  const exists = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  if (exists) return daysFromCivil(year, month, day);
  const written = yearText === undefined ? `${monthText}-${dayText}` : `${yearText}-${monthText}-${dayText}`;
  return `holds ${written}, a day that does not exist`;
}

/** Whether this day of the calendar's zone is excluded. `day` counts from 1970-01-01. */
export function isExcluded(rules: CalendarRules, day: number): boolean {
  return excludedDays(rules)(day);
}

/**
 * The first day at or after this one that is not excluded; null if there is none within 3,660 days.
 */
export function nextAllowedDay(rules: CalendarRules, day: number): number | null {
  const excluded = excludedDays(rules);
  for (let next = day; next <= day + stretchDaysMax; next += 1) if (!excluded(next)) return next;
  return null;
}

/**
 * The last day at or before this one that is not excluded; null if there is none within 3,660 days.
 */
export function previousAllowedDay(rules: CalendarRules, day: number): number | null {
  const excluded = excludedDays(rules);
  for (let previous = day; previous >= day - stretchDaysMax; previous -= 1) {
    if (!excluded(previous)) return previous;
  }
  return null;
}

/** A calendar without dates that name a year repeats after this many years. */
const CYCLE_YEARS = 400;

/**
 * A day in the first stretch of excluded days that is too long; null if there is none. Only
 * multiples of the limit are looked at, since every such stretch contains one.
 */
function tooLongClosed(rules: CalendarRules): number | null {
  const end = daysFromCivil(YEAR_MAX + CYCLE_YEARS + 1, 1, 1) + stretchDaysMax;
  for (let day = 0; day <= end; day += stretchDaysMax) {
    const next = nextAllowedDay(rules, day);
    const previous = previousAllowedDay(rules, day);
    if (next === null || previous === null || next - previous - 1 > stretchDaysMax) return day;
  }
  return null;
}

const excludedByRules = new WeakMap<CalendarRules, (day: number) => boolean>();

/** Days are looked up in tables of this size, each made at its first use. */
const TABLE_DAYS = 64;
const TABLES_MAX = 1_024;

function excludedDays(rules: CalendarRules): (day: number) => boolean {
  const known = excludedByRules.get(rules);
  if (known !== undefined) return known;
  const tables = new BoundedMap<number, Uint8Array>(TABLES_MAX);
  const fill = tableOf(rules);
  const made = (day: number) => {
    const number = Math.floor(day / TABLE_DAYS);
    let table = tables.get(number);
    if (table === undefined) {
      table = fill(number * TABLE_DAYS);
      tables.set(number, table);
    }
    return table[day - number * TABLE_DAYS] === 1;
  };
  excludedByRules.set(rules, made);
  return made;
}

function tableOf({ dates, weekly, except = [] }: CalendarRules): (start: number) => Uint8Array {
  const closedWeekdays = new Set<number>(weekly.map((name) => (weekdays.indexOf(name) + 1) % 7));
  const markDates = marking(dates, 1);
  const markExcept = marking(except, 0);
  return (start) => {
    const table = new Uint8Array(TABLE_DAYS);
    for (let index = 0; index < TABLE_DAYS; index += 1) {
      if (closedWeekdays.has(weekdayOfDays(start + index))) table[index] = 1;
    }
    markDates(table, start);
    markExcept(table, start);
    return table;
  };
}

/** Returns a function that writes `value` into a table, at each day that the entries name. */
function marking(texts: readonly string[], value: 0 | 1): (table: Uint8Array, start: number) => void {
  const entries = texts.map((text) => {
    const entry = readDateEntry(text);
    if (typeof entry === "string") throw new Error(`The calendar date "${text}" ${entry}.`);
    return entry;
  });
  const ranges = entries.filter(({ yearly }) => !yearly);
  const everyYear = new Set(entries.filter(({ yearly }) => yearly).flatMap(yearlyDays));
  return (table, start) => {
    for (const { from, to } of ranges) {
      if (to >= start) table.fill(value, Math.max(0, from - start), Math.max(0, to - start + 1));
    }
    if (everyYear.size === 0) return;
    for (let index = 0; index < TABLE_DAYS; index += 1) {
      const { month, day } = civilFromDays(start + index);
      if (everyYear.has(daysFromCivil(LEAP_YEAR, month, day))) table[index] = value;
    }
  };
}

function yearlyDays({ from, to }: DateEntry): number[] {
  const length = (to >= from ? to : to + DAYS_OF_LEAP_YEAR) - from + 1;
  const newYear = daysFromCivil(LEAP_YEAR, 1, 1);
  return Array.from({ length }, (_, index) => newYear + ((from - newYear + index) % DAYS_OF_LEAP_YEAR));
}

function shortened(name: string): string {
  return name.length <= 100 ? name : `${name.slice(0, 100)}…`.toWellFormed();
}
