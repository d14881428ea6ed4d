import { FURTHEST_MS } from "./bounds.ts";
import { invalid, quoted, type WhenFault } from "./fault.ts";

interface Unit {
  name: string;
  ms: number;
  spellings: readonly string[];
}

/** From large to small, as a duration must name them. */
const units: readonly Unit[] = [
  { name: "week", ms: 604_800_000, spellings: ["w", "week", "weeks"] },
  { name: "day", ms: 86_400_000, spellings: ["d", "day", "days"] },
  { name: "hour", ms: 3_600_000, spellings: ["h", "hour", "hours"] },
  { name: "minute", ms: 60_000, spellings: ["m", "min", "minute", "minutes"] },
  { name: "second", ms: 1_000, spellings: ["s", "sec", "second", "seconds"] },
  { name: "millisecond", ms: 1, spellings: ["ms", "millisecond", "milliseconds"] },
];

const ALLOWED = "A duration is written like 30s, 5m, 1h30m or 3d (units ms, s, m, h, d, w; whole numbers)";
const DIGITS_MAX = 15;

export interface Duration {
  ok: true;
  ms: number;
}

/** Reads `text` from `start` to its end; blanks may stand between the parts, as in `1 hour 30 minutes`. */
export function readDuration(text: string, start = 0): Duration | WhenFault {
  const part = /[ \t]*(\d+)[ \t]*([A-Za-z]*)/y;
  let at = start;
  let ms = 0;
  let smallest = -1;
  do {
    part.lastIndex = at;
    const [whole, digits = "", spelling = ""] = part.exec(text) ?? [];
    if (whole === undefined) return invalid(at, `${ALLOWED}; a whole number is missing here.`);
    const unitAt = at + whole.length - spelling.length;
    const rank = units.findIndex((unit) => unit.spellings.includes(spelling));
    const unit = units[rank];
    if (unit === undefined) return invalid(unitAt, `${ALLOWED}; ${unknownUnit(text, unitAt, spelling)}.`);
    if (rank <= smallest) return invalid(unitAt, `${ALLOWED}; larger units come first, each one once.`);
    smallest = rank;
    ms += Number(digits.slice(0, DIGITS_MAX + 1)) * unit.ms;
    if (ms > FURTHEST_MS) return invalid(at, "A duration can be at most 100 years.");
    at = part.lastIndex;
  } while (at < text.length);
  return { ok: true, ms };
}

function unknownUnit(text: string, unitAt: number, spelling: string): string {
  if (spelling !== "") return `${quoted(spelling)} is no unit`;
  return unitAt === text.length ? "the unit is missing" : `${quoted(text.slice(unitAt))} is no unit`;
}

/** The milliseconds of `30s` or `1h30m`, or null when the text is no duration. Only the short form: settings are not prose. */
export function durationMs(text: string): number | null {
  if (!/^(?:\d+[a-z]{1,2})+$/.test(text)) return null;
  const read = readDuration(text);
  return read.ok ? read.ms : null;
}

/** The normal form: `1h30m`. Days are the largest unit, since two weeks and 14 days are the same duration. */
export function formatDuration(ms: number): string {
  return partsOf(ms)
    .map(({ count, unit }) => `${count}${unit.spellings[0]}`)
    .join("");
}

/** In words: `1 hour 30 minutes`. */
export function describeDuration(ms: number): string {
  return partsOf(ms)
    .map(({ count, unit }) => `${count} ${unit.name}${count === 1 ? "" : "s"}`)
    .join(" ");
}

function partsOf(ms: number): { count: number; unit: Unit }[] {
  const parts: { count: number; unit: Unit }[] = [];
  let rest = ms;
  for (const unit of units) {
    if (unit.name === "week") continue;
    const count = Math.floor(rest / unit.ms);
    rest -= count * unit.ms;
    if (count > 0 || (ms === 0 && unit.name === "second")) parts.push({ count, unit });
  }
  return parts;
}
