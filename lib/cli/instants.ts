import { UsageFault } from "./fault.ts";
import { offsetText, wallText, type ZoneClock, zoneClock } from "./zoned.ts";

export interface InstantInput {
  text: string;
  /** The option that has the text, for faults. */
  option: string;
  /** The zone of a time without an offset and without a zone. */
  zone: string;
  now: number;
}

/**
 * Reads every text of an instant that a command prints, and those that a person writes:
 * `2026-12-01T09:00:00Z`, `2026-12-01 09:00`, `2026-12-01 09:00 Europe/Berlin`, `2026-12-01`,
 * `09:00` (today), `now`, `in 3h`, `2d ago`.
 */
export function readInstant(input: InstantInput): number {
  const instant = instantOf(input);
  if (instant === undefined) throw notAnInstant(input);
  return instant;
}

/** Undefined for a text that names no instant. A time that comes twice, or never, is refused. */
export function instantOf({ text, option, zone, now }: InstantInput): number | undefined {
  const written = withoutRelative(text);
  const relative = relativeMs(written);
  if (relative !== undefined) return now + relative;
  const wall = readWall(written, now);
  const clock = wall === undefined ? undefined : zoneClock(wall.zone ?? zone);
  if (wall === undefined || clock === undefined) return undefined;
  const wallMs = wall.ms(clock);
  if (wall.offsetMs !== undefined) return wallMs - wall.offsetMs;
  return wall.isDay ? startOfDay(wallMs, clock) : theInstant(wallMs, clock, option);
}

/** The columns of tables add a time relative to now, which may be cut: `… (in 30m)`, `… (in 3…`. */
function withoutRelative(text: string): string {
  return text
    .trim()
    .replace(/\s*\((?:now|in\s[^)]*|[^)]*\sago)\)$/, "")
    .replace(/\s*(?:\([^)]*)?…$/, "");
}

function relativeMs(text: string): number | undefined {
  if (text === "now") return 0;
  const [, ahead, back] = /^in\s+(\S.*)$|^(\S.*?)\s+ago$/.exec(text) ?? [];
  const ms = durationMs(ahead ?? back ?? "");
  return ms === undefined || back === undefined ? ms : -ms;
}

interface Wall {
  /** The time on the clock, as if it were in UTC. */
  ms(clock: ZoneClock): number;
  offsetMs: number | undefined;
  zone: string | undefined;
  /** Only the day is given. */
  isDay: boolean;
}

const wallPattern =
  /^(?:(\d{4}-\d\d-\d\d)(?:[T\s]\s*|$))?(?:(\d\d:\d\d)(:\d\d)?(\.\d{1,9})?\s*(Z|[+-]\d\d:\d\d)?)?\s*(?:[[(]?([A-Za-z][\w+/-]*)[\])]?)?$/i;

/** Undefined for a text that is neither a day nor a time of day. */
function readWall(text: string, now: number): Wall | undefined {
  const [, day, minute, second = ":00", fraction = "", offset, zone] = wallPattern.exec(text) ?? [];
  if (day === undefined && minute === undefined) return undefined;
  const onDay = (date: string) => Date.parse(`${date}T${minute ?? "00:00"}${second}${fraction}Z`);
  const asUtc = onDay(day ?? "2000-01-01");
  if (Number.isNaN(asUtc)) return undefined;
  // 02-30 would be read as a day of March.
  if (day !== undefined && !new Date(asUtc).toISOString().startsWith(day)) return undefined;
  return {
    ms: (clock) => onDay(day ?? clock.wall(now).slice(0, 10)),
    offsetMs: offset === undefined ? undefined : offsetMsOf(offset),
    zone,
    isDay: minute === undefined,
  };
}

function offsetMsOf(offset: string): number {
  if (/^z$/i.test(offset)) return 0;
  const [hours = 0, minutes = 0] = offset.slice(1).split(":").map(Number);
  return (offset.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/** Some zones change their clocks at midnight, so a day may begin at 01:00. */
function startOfDay(wallMs: number, clock: ZoneClock): number {
  const [start] = [...clock.instantsOf(wallMs), ...clock.instantsOf(wallMs + 3_600_000)];
  return start ?? wallMs;
}

/** The one instant at which a zone's clock shows a time. Of none or two, a choice would be a guess. */
function theInstant(wallMs: number, clock: ZoneClock, option: string): number {
  const [first, second] = clock.instantsOf(wallMs);
  const wall = wallText(wallMs);
  if (first === undefined)
    throw new UsageFault(
      `${option}: ${wall} does not exist in ${clock.zone}, where the clocks go forward over it.`,
    );
  if (second === undefined) return first;
  const written = [first, second].map((ms) => `"${wall}${offsetText(wallMs - ms)}"`);
  throw new UsageFault(
    `${option}: ${wall} comes twice in ${clock.zone}, where the clocks go back: write ${written.join(" or ")}.`,
  );
}

function notAnInstant({ text, option, zone }: InstantInput): UsageFault {
  return new UsageFault(
    `${option} takes an instant such as 2026-12-01T09:00:00Z, a time in ${zone} such as "2026-12-01 09:00", a time with its zone such as "2026-12-01 09:00 Europe/Berlin", \`now\`, \`in 3h\` or \`2d ago\`; not ${JSON.stringify(text)}.`,
  );
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Such as `90m` or `1h 30m`; undefined if it is no duration. */
export function durationMs(text: string): number | undefined {
  if (!/^(\d{1,9}\s*(ms|s|m|h|d|w)\s*)+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit = ""] of text.matchAll(/(\d+)\s*(ms|s|m|h|d|w)/g))
    ms += Number(count) * (unitMs[unit] ?? 0);
  return ms;
}
