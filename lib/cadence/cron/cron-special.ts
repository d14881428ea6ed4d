import { invalid, quoted, type WhenFault } from "../fault.ts";
import { awsWeekdayShape, type FieldShape } from "./cron-shape.ts";

/** A day without a number, because it depends on the month. Weekdays are 0 (Sunday) – 6. */
export type SpecialDay =
  /** `L`, `L-3`: this many days before the last of the month. */
  | { kind: "beforeLast"; days: number }
  /** `LW`: the last day of the month that is Monday to Friday. */
  | { kind: "lastWorkday" }
  /** `15W`: the Monday to Friday nearest to that day, within its month. */
  | { kind: "nearestWorkday"; day: number }
  /** `1#2`: the second Monday of the month. */
  | { kind: "nth"; weekday: number; nth: number }
  /** `5L`: the last Friday of the month. */
  | { kind: "lastOf"; weekday: number };

/** Reads an item of a day field if it is special; null if it is not. */
export function readSpecialDay(text: string, at: number, shape: FieldShape): SpecialDay | WhenFault | null {
  if (shape.specials === "day") return readDayOfMonth(text, at);
  return shape.specials === "weekday" ? readDayOfWeek(text, at, shape) : null;
}

function readDayOfMonth(text: string, at: number): SpecialDay | WhenFault | null {
  if (/^LW$/i.test(text)) return { kind: "lastWorkday" };
  const last = /^L(?:-(\d+))?$/i.exec(text);
  if (last) {
    const days = Number(last[1] ?? 0);
    return days <= 30 ? { kind: "beforeLast", days } : invalid(at + 2, "L- takes 0–30 days before the last.");
  }
  const [, number] = /^(\d+)W$/i.exec(text) ?? [];
  if (number === undefined) return null;
  const day = Number(number);
  if (day >= 1 && day <= 31) return { kind: "nearestWorkday", day };
  return invalid(at, `${quoted(text)} is out of range: W takes a day from 1 to 31.`);
}

function readDayOfWeek(text: string, at: number, shape: FieldShape): SpecialDay | WhenFault | null {
  const [, dayText = "", sign = "", nthText = ""] = /^([0-9A-Za-z]*?)(L$|#)(.*)$/i.exec(text) ?? [];
  if (sign === "") return null;
  if (dayText === "") {
    return invalid(
      at,
      `${quoted(text)} names no day: the last Friday is 5L or friL, the second Monday 1#2 or mon#2.`,
    );
  }
  const named = shape.names.indexOf(dayText.toLowerCase());
  const written = named >= 0 ? named + shape.namesFrom : /^\d+$/.test(dayText) ? Number(dayText) : -1;
  if (written < shape.min || written > shape.max) {
    return invalid(
      at,
      `${quoted(dayText)} is no day of the week; allowed are ${shape.min}–${shape.max} and sun–sat.`,
    );
  }
  const weekday = shape.valueOf(written);
  if (sign !== "#") return { kind: "lastOf", weekday };
  if (/^[1-5]$/.test(nthText)) return { kind: "nth", weekday, nth: Number(nthText) };
  return invalid(at + dayText.length + 1, "# takes the number of that weekday in the month, 1 to 5.");
}

export function specialText(special: SpecialDay, weekdayShape: FieldShape): string {
  const shift = weekdayShape === awsWeekdayShape ? 1 : 0;
  switch (special.kind) {
    case "beforeLast":
      return special.days === 0 ? "L" : `L-${special.days}`;
    case "lastWorkday":
      return "LW";
    case "nearestWorkday":
      return `${special.day}W`;
    case "nth":
      return `${special.weekday + shift}#${special.nth}`;
    case "lastOf":
      return `${special.weekday + shift}L`;
  }
}

/**
 * The number of the day on which a special day falls in a month; null if the month does not have
 * it. `firstWeekday` is the weekday of the 1st.
 */
export function specialDayOf(special: SpecialDay, firstWeekday: number, length: number): number | null {
  const weekdayOf = (day: number) => (firstWeekday + day - 1) % 7;
  switch (special.kind) {
    case "beforeLast":
      return special.days < length ? length - special.days : null;
    case "lastWorkday":
      return nearestWorkday(length, weekdayOf(length), length);
    case "nearestWorkday":
      return special.day <= length ? nearestWorkday(special.day, weekdayOf(special.day), length) : null;
    case "nth": {
      const day = 1 + ((special.weekday - firstWeekday + 7) % 7) + (special.nth - 1) * 7;
      return day <= length ? day : null;
    }
    case "lastOf":
      return length - ((weekdayOf(length) - special.weekday + 7) % 7);
  }
}

function nearestWorkday(day: number, weekday: number, length: number): number {
  if (weekday === 6) return day > 1 ? day - 1 : day + 2;
  if (weekday === 0) return day < length ? day + 1 : day - 2;
  return day;
}
