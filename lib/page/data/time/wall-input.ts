import { dateText, minuteText } from "./zone.ts";

/** The value of an `<input type="datetime-local">` for an instant in a zone. */
export function wallInput(at: number, zone: string): string {
  return `${dateText(at, zone)}T${minuteText(at, zone)}`;
}

const dayMs = 86_400_000;

/**
 * The instant of a wall time in a zone, read with the offset of the day before it. Thus of a time that
 * occurs twice the first is meant, and one in a gap is as long after the gap as it is after its begin.
 * Null if the text is no time, or one before 1970: its year is half typed.
 */
export function instantOfWall(text: string, zone: string): number | null {
  const wanted = Date.parse(`${text}Z`);
  if (Number.isNaN(wanted) || wanted < 0) return null;
  const before = wanted - offsetOf(wanted - dayMs, zone);
  if (wallMs(before, zone) === wanted) return before;
  const after = wanted - offsetOf(wanted + dayMs, zone);
  return wallMs(after, zone) === wanted ? after : before;
}

const wallMs = (at: number, zone: string) => Date.parse(`${wallInput(at, zone)}Z`);

/** The offset of a whole minute, as all zones have it. */
const offsetOf = (at: number, zone: string) => wallMs(at, zone) - at;

export const dateAfter = (date: string, days: number) =>
  new Date(Date.parse(`${date}T00:00Z`) + days * dayMs).toISOString().slice(0, 10);

/** The begin of a date, also where a clock change leaves out its midnight. */
export const midnightOf = (date: string, zone: string) => instantOfWall(`${date}T00:00`, zone) ?? 0;

const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "long", timeZone: "UTC" });

/** `Monday` of a wall time; nothing of a text that is none. */
export function weekdayOfWall(text: string): string {
  const wall = Date.parse(`${text}Z`);
  return Number.isNaN(wall) ? "" : weekday.format(wall);
}
