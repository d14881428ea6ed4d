import { instantOfWall } from "../../data/wall-input.ts";
import { clockText, dateText } from "../../data/zone.ts";

/** An instant with its own offset, such as `2026-03-02T09:00Z`. */
const absolute = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;
/** A time on the clocks of the screen's zone: `2026-03-02 09:00:30`, or `09:00` of today. */
const wall = /^(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}:\d\d)(?::([0-5]\d))?$/;

const secondMs = 1_000;

/** The instant that a reader typed; null if the text is none. */
export function typedInstant(text: string, { zone, now }: { zone: string; now: number }): string | null {
  const typed = text.trim();
  const [, day] = absolute.exec(typed) ?? [];
  if (day !== undefined) return isDate(day) ? isoOf(Date.parse(typed.replace(" ", "T"))) : null;
  const [, date = dateText(now, zone), minute, second = "0"] = wall.exec(typed) ?? [];
  if (minute === undefined || !isDate(date)) return null;
  const at = instantOfWall(`${date}T${minute.padStart(5, "0")}`, zone);
  return at === null ? null : isoOf(at + Number(second) * secondMs);
}

/**
 * An instant as a reader would type it: on the clocks of the zone where that is exact. Of an hour that
 * a clock change repeats, only the first pass can be typed so.
 */
export function writtenInstant(at: string | undefined, zone: string): string {
  const instant = Date.parse(at ?? "");
  if (at === undefined || Number.isNaN(instant)) return at ?? "";
  const clock = `${dateText(instant, zone)} ${clockText(instant, zone)}`;
  const text = clock.endsWith(":00") ? clock.slice(0, -3) : clock;
  return typedInstant(text, { zone, now: instant }) === new Date(instant).toISOString() ? text : at;
}

/** `Date.parse` takes 31 February for 3 March. */
function isDate(date: string): boolean {
  return isoOf(Date.parse(`${date}T00:00Z`))?.startsWith(date) ?? false;
}

const isoOf = (at: number) => (Number.isNaN(at) ? null : new Date(at).toISOString());
