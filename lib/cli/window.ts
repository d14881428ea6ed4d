import { UsageFault } from "./fault.ts";
import { durationMs, instantOf } from "./instants.ts";
import type { Times } from "./times.ts";

/** A window of time, from an instant until before another. */
export interface TimeWindow {
  from: string;
  to: string;
}

/** The zone of shown times, and the clock of this machine. */
interface Reading {
  times: Times;
  now: number;
}

const dayMs = 86_400_000;

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/**
 * Reads a window in the zone of shown times: `Mon 08:55..09:05`, `2026-12-01 08:00..10:00`,
 * `tomorrow 9..10`, `Mon 22:00..Tue 02:00`, `today`, `next 2h`, `last 30m`, `+2h`, `2h ago..now`, or
 * two instants.
 */
export function windowFrom(text: string, reading: Reading): TimeWindow {
  const { from, to } = aroundNow(text.trim(), reading) ?? between(text.trim(), reading) ?? notAWindow(text);
  if (to > from) return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  throw new UsageFault(
    `A window ends after it begins, but ${JSON.stringify(text)} does not. An end on another day needs its day: \`Mon 22:00..Tue 02:00\`.`,
  );
}

function notAWindow(text: string): never {
  throw new UsageFault(
    `A window is a day with times (\`Mon 08:55..09:05\`, \`2026-12-01 8..10\`, \`tomorrow\`), a time from now (\`+2h\`, \`last 30m\`), or two times (\`2026-12-01T08:00..2026-12-02T08:00\`, \`Mon 22:00..Tue 02:00\`); not ${JSON.stringify(text)}.`,
  );
}

interface Range {
  from: number;
  to: number;
}

function aroundNow(text: string, { now }: Reading): Range | undefined {
  const [, back, length = ""] = /^(?:\+|next\s+|(last\s+))(\d.*)$/i.exec(text) ?? [];
  const ms = durationMs(length);
  if (ms === undefined) return undefined;
  return back === undefined ? { from: now, to: now + ms } : { from: now - ms, to: now };
}

function between(text: string, reading: Reading): Range | undefined {
  const [first = "", second, ...others] = text.split(/\s*\.\.\s*/);
  if (others.length > 0) return undefined;
  const today = Date.parse(`${reading.times.wall(new Date(reading.now).toISOString()).slice(0, 10)}T00:00Z`);
  const range = rangeFrom([first, second], today, reading);
  const isPast = range !== undefined && range.to <= reading.now;
  return isPast && startsOnWeekday(first) ? rangeFrom([first, second], today + 7 * dayMs, reading) : range;
}

const startsOnWeekday = (text: string) => weekdayOf(text.split(/\s/)[0]) !== undefined;

function rangeFrom(
  [first, second]: [string, string | undefined],
  today: number,
  reading: Reading,
): Range | undefined {
  const begin = pointIn(first, today);
  const from = instantFrom(first, begin, reading);
  if (begin === undefined && /^\d{1,2}(:|$)/.test(second ?? "")) return undefined;
  const end = second === undefined ? nextDay(begin) : pointIn(second, begin?.day ?? today);
  const to = instantFrom(second ?? "", end, reading);
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** A time on a day of the zone's calendar; without a time, the beginning of the day. */
interface Point {
  /** Midnight of the day, as if it were in UTC. */
  day: number;
  time?: string | undefined;
}

/** Only a day without a time is a window of its own. */
const nextDay = (point: Point | undefined): Point | undefined =>
  point === undefined || point.time !== undefined ? undefined : { day: point.day + dayMs };

/** Reads `Mon 8`, `2026-12-01 08:00`, `tomorrow` or `9:05`. A weekday is the first one from `base` on. */
function pointIn(text: string, base: number): Point | undefined {
  const [, name = "", hour, rest = ":00"] =
    /^(.*?)(?:(?:^|\s+)(\d{1,2})((?::\d\d){1,2})?)?$/.exec(text.toLowerCase()) ?? [];
  if (text === "") return undefined;
  const day = dayOf(name, base);
  if (day === undefined || hour === undefined) return day === undefined ? undefined : { day };
  if (hour === "24" && /^[:0]+$/.test(rest)) return { day: day + dayMs };
  return { day, time: `${hour.padStart(2, "0")}${rest}` };
}

function dayOf(name: string, base: number): number | undefined {
  if (name === "") return base;
  const days = { yesterday: -1, today: 0, tomorrow: 1 }[name];
  if (days !== undefined) return base + days * dayMs;
  const [, last, word] = /^(last\s+)?(\S+)$/.exec(name) ?? [];
  const weekday = weekdayOf(word);
  if (weekday !== undefined) {
    const ahead = (weekday - new Date(base).getUTCDay() + 7) % 7;
    return base + (last === undefined ? ahead : ahead === 0 ? -7 : ahead - 7) * dayMs;
  }
  const date = /^\d{4}-\d\d-\d\d$/.test(name) ? Date.parse(`${name}T00:00Z`) : Number.NaN;
  // 02-31 would be read as a day of March.
  return Number.isNaN(date) || dateText(date) !== name ? undefined : date;
}

const fullNames =
  /^(sun|mon|tue|tues|wed|thu|thur|thurs|fri|sat)$|^(sun|mon|tues|wednes|thurs|fri|satur)day$/i;

function weekdayOf(word = ""): number | undefined {
  return fullNames.test(word) ? weekdays.indexOf(word.slice(0, 3).toLowerCase()) : undefined;
}

const dateText = (day: number) => new Date(day).toISOString().slice(0, 10);

/** The instant of a point, or of a text that names an instant by itself. */
function instantFrom(text: string, point: Point | undefined, { times, now }: Reading): number | undefined {
  const written = point === undefined ? text : `${dateText(point.day)} ${point.time ?? ""}`;
  return instantOf({ text: written, option: "The window", zone: times.zone, now });
}
