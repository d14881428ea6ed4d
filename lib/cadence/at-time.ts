import { invalid, type WhenFault } from "./fault.ts";
import { daysFromCivil, daysInMonth, MS_PER_DAY } from "./zone/civil.ts";

/**
 * A date with a time as a caller writes it. `wall` is the written time read as UTC; `offset` is the
 * one written after it.
 */
export interface AtTime {
  ok: true;
  wall: number;
  /** Milliseconds east of UTC; null for a wall time without offset. */
  offset: number | null;
}

// In backticks, so that the page does not show them as instants on the clocks of its zone.
const ALLOWED =
  "A time has the form `2026-12-01T09:00`, `2026-12-01T09:00:00Z` or `2026-12-01T09:00:00+01:00`";

/** The parts in order, each with the text before it and the values that it may have. */
const parts: readonly Part[] = [
  { name: "year", digits: 4, before: "", min: 0, max: 9999 },
  { name: "month", digits: 2, before: "-", min: 1, max: 12 },
  { name: "day", digits: 2, before: "-", min: 1, max: 31 },
  { name: "hour", digits: 2, before: "T", min: 0, max: 23 },
  { name: "minute", digits: 2, before: ":", min: 0, max: 59 },
  { name: "second", digits: 2, before: ":", min: 0, max: 59 },
];

/** Reads a date with a time that goes from `start` to the end of `text`. */
export function readAtTime(text: string, start: number): AtTime | WhenFault {
  const values: number[] = [];
  let at = start;
  for (const part of parts) {
    if (part.name === "second" && text.charAt(at) !== ":") break;
    const max = part.name === "day" ? daysInMonth(values[0] ?? 0, values[1] ?? 1) : part.max;
    const value = readPart(text, at, { ...part, max });
    if (typeof value !== "number") return value;
    values.push(value);
    at += part.before.length + part.digits;
  }
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second] = values;
  const [fraction = "", thousandths = ""] =
    second === undefined ? [] : (/^\.(\d+)/.exec(text.slice(at)) ?? []);
  if (thousandths.length > 3) {
    return invalid(at + 4, "A second has at most three decimals: instants are whole milliseconds.");
  }
  const offset = readOffset(text, at + fraction.length);
  if (!offset.ok) return offset;
  const ms = Number(thousandths.padEnd(3, "0"));
  const time = ((hour * 60 + minute) * 60 + (second ?? 0)) * 1_000 + ms;
  return { ok: true, wall: daysFromCivil(year, month, day) * MS_PER_DAY + time, offset: offset.ms };
}

interface Part {
  name: string;
  digits: number;
  before: string;
  min: number;
  max: number;
}

function readPart(text: string, at: number, { name, digits, before, min, max }: Part): number | WhenFault {
  if (!text.startsWith(before, at)) {
    return invalid(at, `${ALLOWED}; "${before}" and the ${name} are missing here.`);
  }
  const valueAt = at + before.length;
  const written = text.slice(valueAt, valueAt + digits);
  if (written.length < digits || !/^\d+$/.test(written)) {
    return invalid(valueAt, `${ALLOWED}; a ${name} of ${digits} digits is missing here.`);
  }
  const value = Number(written);
  if (value >= min && value <= max) return value;
  return invalid(valueAt, `There is no ${name} ${written} here; it goes from ${min} to ${max}.`);
}

function readOffset(text: string, at: number): { ok: true; ms: number | null } | WhenFault {
  const rest = text.slice(at);
  if (rest === "") return { ok: true, ms: null };
  if (rest === "Z" || rest === "z") return { ok: true, ms: 0 };
  const [, sign, hours = "", minutes = ""] = /^([+-])(\d\d):?(\d\d)$/.exec(rest) ?? [];
  if (sign === undefined) {
    return invalid(at, `${ALLOWED}; here only Z, an offset like +01:00, or the end can follow.`);
  }
  if (Number(hours) > 18 || Number(minutes) > 59) {
    return invalid(at, `The offset ${rest} does not exist; offsets go from -18:00 to +18:00.`);
  }
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return { ok: true, ms: sign === "-" ? -ms : ms };
}
