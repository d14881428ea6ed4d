import { FURTHEST_MS } from "./bounds.ts";
import { invalid, quoted, type WhenFault } from "./fault.ts";
import { nearestWord } from "./near.ts";

interface Unit {
  name: string;
  ms: number;
  spellings: readonly string[];
}

/** From large to small: the order in which a duration must name them. */
const units: readonly Unit[] = [
  { name: "week", ms: 604_800_000, spellings: ["w", "week", "weeks"] },
  { name: "day", ms: 86_400_000, spellings: ["d", "day", "days"] },
  { name: "hour", ms: 3_600_000, spellings: ["h", "hour", "hours"] },
  { name: "minute", ms: 60_000, spellings: ["m", "min", "minute", "minutes"] },
  { name: "second", ms: 1_000, spellings: ["s", "sec", "second", "seconds"] },
  { name: "millisecond", ms: 1, spellings: ["ms", "millisecond", "milliseconds"] },
];

const ALLOWED =
  "A duration is written like 30s, 5m, 1h30m, 3d (units ms, s, m, h, d, w; whole numbers) or PT1H30M";
const DIGITS_MAX = 15;

export interface Duration {
  ok: true;
  ms: number;
}

/**
 * Reads `text` from `start` to its end. Blanks are allowed between the parts, as in `1 hour 30
 * minutes`.
 */
export function readDuration(text: string, start = 0): Duration | WhenFault {
  if (/^P/i.test(text.slice(start))) return readIsoDuration(text, start);
  const part = /[ \t]*(\d+)[ \t]*([A-Za-z]*)/y;
  let at = start;
  let ms = 0;
  let smallest = -1;
  do {
    part.lastIndex = at;
    const [whole, digits = "", spelling = ""] = part.exec(text) ?? [];
    if (whole === undefined) return invalid(at, `${ALLOWED}; a whole number is missing here.`);
    const unitAt = at + whole.length - spelling.length;
    const unit = bySpelling.get(spelling);
    if (unit === undefined) return invalid(unitAt, `${ALLOWED}; ${unknownUnit(text, unitAt, spelling)}.`);
    const rank = units.indexOf(unit);
    if (rank <= smallest) return invalid(unitAt, `${ALLOWED}; larger units come first, each one once.`);
    smallest = rank;
    ms += Number(digits.slice(0, DIGITS_MAX + 1)) * unit.ms;
    if (ms > FURTHEST_MS) return invalid(at, "A duration can be at most 100 years.");
    at = part.lastIndex;
  } while (at < text.length);
  return { ok: true, ms };
}

const bySpelling = new Map(units.flatMap((unit) => unit.spellings.map((spelling) => [spelling, unit])));
const spellings = [...bySpelling.keys()];

function unknownUnit(text: string, unitAt: number, spelling: string): string {
  if (/^(?:mo|months?|y|years?)$/i.test(spelling)) {
    return `${quoted(spelling)} has no fixed length; every 1 month and every 1 year follow the calendar`;
  }
  if (spelling !== "") {
    const meant = spelling.length > 2 ? nearestWord(spelling, spellings) : null;
    return `${quoted(spelling)} is no unit${meant === null ? "" : `, perhaps ${meant}`}`;
  }
  return unitAt === text.length ? "the unit is missing" : `${quoted(text.slice(unitAt))} is no unit`;
}

/** The units of ISO 8601 with a fixed length, in their order. A day is 24 hours. */
const isoUnits: readonly { letter: string; ms: number; time: boolean }[] = [
  { letter: "W", ms: 604_800_000, time: false },
  { letter: "D", ms: 86_400_000, time: false },
  { letter: "H", ms: 3_600_000, time: true },
  { letter: "M", ms: 60_000, time: true },
  { letter: "S", ms: 1_000, time: true },
];

const ISO = "A duration of ISO 8601 is written like PT1H30M, P1D or P2W: units W, D, then T and H, M, S";

/**
 * Reads `P1DT12H` from `start` to the end of the text. Seconds may have three decimals; all other
 * numbers are whole.
 */
function readIsoDuration(text: string, start: number): Duration | WhenFault {
  const part = /(T?)(\d+)(?:\.(\d+))?([A-Za-z]?)/iy;
  let at = start + 1;
  let ms = 0;
  let smallest = -1;
  let time = false;
  do {
    part.lastIndex = at;
    const [whole, t = "", digits = "", decimals = "", letter = ""] = part.exec(text) ?? [];
    if (whole === undefined || (t !== "" && time)) return invalid(at, `${ISO}; a number is missing here.`);
    time ||= t !== "";
    const unitAt = at + whole.length - letter.length;
    const rank = isoUnits.findIndex((unit) => unit.letter === letter.toUpperCase() && unit.time === time);
    const unit = isoUnits[rank];
    if (unit === undefined) return invalid(unitAt, `${ISO}; ${isoUnitFault(letter, time)}.`);
    if (rank <= smallest) return invalid(unitAt, `${ISO}; larger units come first, each one once.`);
    if (decimals.length > (unit.letter === "S" ? 3 : 0)) {
      return invalid(unitAt - decimals.length, `${ISO}; only seconds can have decimals, up to three.`);
    }
    smallest = rank;
    ms += Number(digits.slice(0, DIGITS_MAX + 1)) * unit.ms + Number(decimals.padEnd(3, "0"));
    if (ms > FURTHEST_MS) return invalid(at, "A duration can be at most 100 years.");
    at = part.lastIndex;
  } while (at < text.length);
  return { ok: true, ms };
}

function isoUnitFault(letter: string, time: boolean): string {
  if (letter === "") return "the unit is missing here";
  if (!time && /[YM]/i.test(letter)) {
    return "months and years have no fixed length, and minutes come after a T";
  }
  return !time && /[HS]/i.test(letter)
    ? `a T is missing before ${letter}`
    : `${quoted(letter)} is no unit here`;
}

/**
 * The milliseconds of `30s`, `1h30m` or `PT1H30M`; null if the text is no duration. For settings,
 * so words are not accepted.
 */
export function durationMs(text: string): number | null {
  if (!/^(?:\d+[a-z]{1,2})+$|^P[0-9A-Z.]+$/.test(text)) return null;
  const read = readDuration(text);
  return read.ok ? read.ms : null;
}

/**
 * The normal form: `1h30m`. Days are the largest unit, since two weeks and 14 days are the same
 * duration.
 */
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
