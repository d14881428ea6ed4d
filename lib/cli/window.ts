import { UsageFault } from "./fault.ts";
import { durationMs } from "./instants.ts";
import type { Times } from "./times.ts";

/** A window of time, from an instant until before another. */
export interface TimeWindow {
  from: string;
  to: string;
}

const dayMs = 86_400_000;

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/**
 * Reads a window in the zone of shown times: `Mon 08:55..09:05`, `2026-12-01 08:00..10:00`,
 * `tomorrow 9..10`, `today`, `next 2h`, `last 30m`, `+2h`, or two times with `..` between them.
 */
export function windowFrom(text: string, { times, now }: { times: Times; now: number }): TimeWindow {
  const written = text.trim().toLowerCase();
  return (
    aroundNow(written, now) ?? betweenInstants(written, times) ?? onDay(written, times, now) ?? fault(text)
  );
}

function fault(text: string): never {
  throw new UsageFault(
    `A window is a day with times (\`Mon 08:55..09:05\`, \`2026-12-01 8..10\`, \`tomorrow\`), a time from now (\`+2h\`, \`last 30m\`), or two instants (\`2026-12-01T08:00..2026-12-02T08:00\`); not ${JSON.stringify(text)}.`,
  );
}

function aroundNow(text: string, now: number): TimeWindow | undefined {
  const [, back, length = ""] = /^(?:\+|next\s+|(last\s+))(\d.*)$/.exec(text) ?? [];
  const ms = durationMs(length);
  if (ms === undefined) return undefined;
  return back === undefined ? windowOf(now, now + ms) : windowOf(now - ms, now);
}

/** Two instants: with an offset, or as wall times of the zone. */
function betweenInstants(text: string, times: Times): TimeWindow | undefined {
  const [, first = "", second = ""] = /^(\d{4}-\d\d-\d\d\S*?)\.\.(\d{4}-\d\d-\d\d\S*)$/.exec(text) ?? [];
  const [from, to] = [instantOf(first, times), instantOf(second, times)];
  return from === undefined || to === undefined ? undefined : windowOf(from, to);
}

function instantOf(text: string, times: Times): number | undefined {
  const [, day, time, offset] =
    /^(\d{4}-\d\d-\d\d)(?:t(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  if (day === undefined) return undefined;
  const wall = Date.parse(`${day}T${time ?? "00:00"}Z`);
  if (Number.isNaN(wall)) return undefined;
  return offset === undefined ? atWall(wall, times) : Date.parse(text.toUpperCase());
}

function onDay(text: string, times: Times, now: number): TimeWindow | undefined {
  const [, name, span] =
    /^(.*?)\s*((?:\d{1,2}(?::\d\d){0,2})\.\.(?:\d{1,2}(?::\d\d){0,2}))?$/.exec(text) ?? [];
  const [begin, end] = span === undefined ? [0, dayMs] : span.split("..").map(timeOf);
  if (name === undefined || begin === undefined || end === undefined) return undefined;
  // An end that is not after the beginning is on the next day.
  const length = end > begin ? end - begin : end - begin + dayMs;
  const window = (day: number) => windowOf(atWall(day + begin, times), atWall(day + begin + length, times));
  const today = Math.floor(wallAt(now, times) / dayMs) * dayMs;
  const [, isLast, weekday = ""] = /^(last\s+)?([a-z]{3,9})$/.exec(name) ?? [];
  const wanted = weekdays.findIndex((each) => weekday.startsWith(each));
  if (wanted >= 0 && fullNames.test(weekday)) {
    const ahead = (wanted - new Date(today).getUTCDay() + 7) % 7;
    if (isLast !== undefined) return window(today + (ahead === 0 ? -7 : ahead - 7) * dayMs);
    const next = window(today + ahead * dayMs);
    return Date.parse(next.to) > now ? next : window(today + 7 * dayMs);
  }
  if (name === "" && span !== undefined) return window(today);
  const day = { yesterday: -1, today: 0, tomorrow: 1 }[name];
  if (day !== undefined) return window(today + day * dayMs);
  const date = /^\d{4}-\d\d-\d\d$/.test(name) ? Date.parse(`${name}T00:00Z`) : Number.NaN;
  return Number.isNaN(date) ? undefined : window(date);
}

const fullNames =
  /^(sun|mon|tue|tues|wed|thu|thur|thurs|fri|sat)$|^(sun|mon|tues|wednes|thurs|fri|satur)day$/;

/** The time of day in milliseconds; undefined if there is no such time. */
function timeOf(text: string): number | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  const ms = ((hours * 60 + minutes) * 60 + seconds) * 1_000;
  return minutes > 59 || seconds > 59 || ms > dayMs ? undefined : ms;
}

function windowOf(from: number, to: number): TimeWindow {
  if (to <= from) throw new UsageFault("A window ends after it begins.");
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The wall time of the zone, as if it were UTC. An hour that comes twice is shown with its offset. */
function wallAt(instant: number, times: Times): number {
  const shown = times.wall(new Date(instant).toISOString()).slice(0, "2026-12-01 09:00:00".length);
  return Date.parse(`${shown.replace(" ", "T")}Z`);
}

/** The instant of a wall time. One that a clock change skips is as long after the change as it would be. */
function atWall(wall: number, times: Times): number {
  const offset = (instant: number) => wallAt(instant, times) - Math.floor(instant / 1_000) * 1_000;
  const near = wall - offset(wall);
  return wall - offset(near);
}
