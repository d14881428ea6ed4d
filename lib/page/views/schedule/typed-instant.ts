import type { Explanation } from "../../../client/time.ts";
import { instantOfWall } from "../../data/time/wall-input.ts";
import { clockText, dateText } from "../../data/time/zone.ts";

/** An instant with its own offset, such as `2026-03-02T09:00Z`. */
const absolute = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;
/** A time on the clocks of the screen's zone: `2026-03-02 09:00:30.929`, or `09:00` of today. */
const wall = /^(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}:\d\d)(?::([0-5]\d(?:\.\d{1,3})?))?$/;

const secondMs = 1_000;
const minuteMs = 60_000;

/** The instant that a reader typed; null if the text is none. */
export function typedInstant(text: string, { zone, now }: { zone: string; now: number }): string | null {
  const typed = text.trim();
  const [, day] = absolute.exec(typed) ?? [];
  if (day !== undefined) return isDate(day) ? isoOf(Date.parse(typed.replace(" ", "T"))) : null;
  const [, date = dateText(now, zone), minute, second = "0"] = wall.exec(typed) ?? [];
  if (minute === undefined || !isDate(date)) return null;
  const at = instantOfWall(`${date}T${minute.padStart(5, "0")}`, zone);
  return at === null ? null : isoOf(at + Math.round(Number(second) * secondMs));
}

/**
 * The occurrence that a time without seconds means, as lists show it: the first one of its minute, where the
 * minute itself is none. Undefined where the minute has no occurrence, or where the text has seconds or an offset.
 */
export function occurrenceMeant(
  text: string,
  { occurrence, at, nearest: { after } }: Pick<Explanation, "occurrence" | "at" | "nearest">,
): string | undefined {
  const [, , , second] = wall.exec(text.trim()) ?? [];
  const isMinute = wall.test(text.trim()) && second === undefined;
  if (!isMinute || occurrence || after === null) return undefined;
  return Date.parse(after.at) - Date.parse(at) < minuteMs ? after.at : undefined;
}

/**
 * An instant as a reader would type it, on the clocks of the zone. Of an hour that a clock change repeats,
 * only the first pass can be typed so; in the second one the time has its offset.
 */
export function writtenInstant(at: string | undefined, zone: string): string {
  const instant = Date.parse(at ?? "");
  if (at === undefined || Number.isNaN(instant)) return at ?? "";
  const part = instant % secondMs;
  const clock = `${dateText(instant, zone)} ${clockText(instant, zone)}`;
  const fine = part === 0 ? clock : `${clock}.${String(part).padStart(3, "0")}`;
  const text = fine.endsWith(":00") ? fine.slice(0, -3) : fine;
  const offset = offsetText(Date.parse(`${clock.replace(" ", "T")}Z`) - (instant - part));
  return [text, `${text}${offset}`].find((each) => isReadAs(each, instant, zone)) ?? at;
}

const isReadAs = (text: string, instant: number, zone: string) =>
  typedInstant(text, { zone, now: instant }) === new Date(instant).toISOString();

/** `+01:00`. */
function offsetText(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / minuteMs);
  const two = (count: number) => String(count).padStart(2, "0");
  return `${ms < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** `Date.parse` takes 31 February for 3 March. */
function isDate(date: string): boolean {
  return isoOf(Date.parse(`${date}T00:00Z`))?.startsWith(date) ?? false;
}

const isoOf = (at: number) => (Number.isNaN(at) ? null : new Date(at).toISOString());
