/**
 * The definition of a cron expression, implemented step by step: slow, simple, and independent of
 * lib/cadence.
 */
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 86_400_000;
const GAP_MAX = 3 * 60 * MINUTE;

/**
 * All occurrences in `(from, upTo]`: minute by minute, and second by second if the expression has
 * seconds.
 */
export function scanUtc(expression: string, from: number, upTo: number): number[] {
  const matches = wallMatcher(expression);
  const step = expression.split(" ").length === 6 ? SECOND : MINUTE;
  const found: number[] = [];
  for (let at = Math.floor(from / step) * step + step; at <= upTo; at += step) {
    if (matches(at)) found.push(at);
  }
  return found;
}

/** The rule for clock changes. */
export interface Rule {
  gap: "next" | "skip";
  overlap: "first" | "last" | "both";
}

type Override = { [Side in keyof Rule]?: Rule[Side] | undefined };

/**
 * As `scanUtc`, in a zone and with the rule for clock changes; `dst` overrides parts of the rule.
 */
export function scanZone(
  expression: string,
  timezone: string,
  { from, upTo, dst = {} }: { from: number; upTo: number; dst?: Override | undefined },
): number[] {
  const [minute = "", hour = ""] = expression.split(" ");
  const byKind: Rule = /[*/]/.test(minute + hour)
    ? { gap: "skip", overlap: "both" }
    : { gap: "next", overlap: "first" };
  return walkZone(wallMatcher(expression), timezone, {
    from,
    upTo,
    rule: { gap: dst.gap ?? byKind.gap, overlap: dst.overlap ?? byKind.overlap },
  });
}

const LOOK_AROUND = 30 * 60 * MINUTE;

/**
 * Checks real time minute by minute, from well before to well after the range, by the wall time of
 * each minute.
 */
export function walkZone(
  matches: (wall: number) => boolean,
  timezone: string,
  { from, upTo, rule }: { from: number; upTo: number; rule: Rule },
): number[] {
  const wallAt = wallClockInOrder(timezone);
  const begin = Math.floor(from / MINUTE) * MINUTE - LOOK_AROUND;
  const walls: number[] = [];
  for (let at = begin; at <= upTo + LOOK_AROUND; at += MINUTE) walls.push(wallAt(at));
  const earliestLater = [...walls, Number.POSITIVE_INFINITY];
  for (let index = walls.length - 1; index >= 0; index -= 1) {
    earliestLater[index] = Math.min(walls[index] ?? 0, earliestLater[index + 1] ?? 0);
  }
  const found: number[] = [];
  let latest = walls[0] ?? 0;
  for (let index = 1; index < walls.length; index += 1) {
    const wall = walls[index] ?? 0;
    const before = walls[index - 1] ?? 0;
    const repeats = wall <= latest;
    const comesAgain = (earliestLater[index + 1] ?? 0) <= wall;
    const leftOut = rule.overlap === "first" ? repeats : rule.overlap === "last" && comesAgain;
    const made = rule.gap === "next" && wall - before - MINUTE <= GAP_MAX;
    const occurs = (matches(wall) && !leftOut) || (made && someMatch(matches, before + MINUTE, wall));
    const at = begin + index * MINUTE;
    if (occurs && at > from && at <= upTo) found.push(at);
    latest = Math.max(latest, wall);
  }
  return found;
}

function someMatch(matches: (wall: number) => boolean, from: number, end: number): boolean {
  for (let wall = from; wall < end; wall += MINUTE) if (matches(wall)) return true;
  return false;
}

/** Wall time from the fields that Intl writes, as if they were UTC. */
export function wallClock(timezone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (instant) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = format
      .format(instant)
      .split(/[^0-9]+/)
      .map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

/**
 * As `wallClock`, for instants in rising order. It calls Intl at each full hour, and at each
 * instant only in an hour whose two ends have different offsets. Clocks that moved and moved back
 * within one hour would be missed, and no zone has had any.
 */
function wallClockInOrder(timezone: string): (instant: number) => number {
  const wallAt = wallClock(timezone);
  let hour = { from: Number.NEGATIVE_INFINITY, offset: 0, isSteady: false };
  return (instant) => {
    const from = Math.floor(instant / HOUR) * HOUR;
    if (from !== hour.from) {
      const offset = wallAt(from) - from;
      hour = { from, offset, isSteady: wallAt(from + HOUR) - from - HOUR === offset };
    }
    return hour.isSteady ? instant + hour.offset : wallAt(instant);
  };
}

function wallMatcher(expression: string): (wall: number) => boolean {
  const words = expression.split(" ");
  const [second = "0", minute = "", hour = "", day = "", month = "", weekday = ""] = (
    words.length === 6 ? words : ["0", ...words]
  ).map((word) => word.replace("&", ""));
  const needsBoth = expression.includes("&");
  const seconds = valuesOf(second, 0, 59);
  const minutes = valuesOf(minute, 0, 59);
  const hours = valuesOf(hour, 0, 23);
  const days = valuesOf(day, 1, 31);
  const months = valuesOf(month, 1, 12);
  const weekdays = valuesOf(weekday, 0, 6);
  return (wall) => {
    const date = new Date(wall);
    if (!seconds.has(date.getUTCSeconds()) || !minutes.has(date.getUTCMinutes())) return false;
    if (!hours.has(date.getUTCHours()) || !months.has(date.getUTCMonth() + 1)) return false;
    const dayFits = days.has(date.getUTCDate()) || day.split(",").some((item) => isSpecialDay(item, wall));
    const weekdayFits =
      weekdays.has(date.getUTCDay()) || weekday.split(",").some((item) => isSpecialWeekday(item, wall));
    if (needsBoth) return dayFits && weekdayFits;
    return day === "*" ? weekdayFits : weekday === "*" ? dayFits : dayFits || weekdayFits;
  };
}

function monthOf(wall: number): number {
  return new Date(wall).getUTCMonth();
}

function isWorkday(wall: number): boolean {
  return ![0, 6].includes(new Date(wall).getUTCDay());
}

function isSpecialDay(item: string, wall: number): boolean {
  const date = new Date(wall);
  if (item === "LW") {
    const rest = [1, 2, 3]
      .map((days) => wall + days * DAY)
      .filter((later) => monthOf(later) === monthOf(wall));
    return isWorkday(wall) && !rest.some(isWorkday) && rest.length < 3;
  }
  if (item.startsWith("L")) {
    const back = Number(item.slice(2)) * DAY;
    return monthOf(wall + back) === monthOf(wall) && monthOf(wall + back + DAY) !== monthOf(wall);
  }
  if (!item.endsWith("W") || !isWorkday(wall)) return false;
  const wanted = Date.UTC(date.getUTCFullYear(), monthOf(wall), Number(item.slice(0, -1)));
  if (monthOf(wanted) !== monthOf(wall)) return false;
  // The workday of the month at the smallest distance. For a Saturday it is Friday, for a Sunday
  // Monday, so there is never a tie.
  const distance = Math.abs(wanted - Math.floor(wall / DAY) * DAY);
  return [-2, -1, 0, 1, 2]
    .map((days) => wanted + days * DAY)
    .filter((day) => monthOf(day) === monthOf(wanted) && isWorkday(day))
    .every((day) => Math.abs(day - wanted) >= distance);
}

function isSpecialWeekday(item: string, wall: number): boolean {
  const date = new Date(wall);
  if (Number(item.charAt(0)) !== date.getUTCDay()) return false;
  if (item.endsWith("L")) return monthOf(wall + 7 * DAY) !== monthOf(wall);
  return item.charAt(1) === "#" && Math.ceil(date.getUTCDate() / 7) === Number(item.slice(2));
}

function valuesOf(field: string, min: number, max: number): Set<number> {
  const values = new Set<number>();
  for (const item of field.split(",")) {
    const [base = "", by = "1"] = item.split("/");
    const [fromText = "", toText] = base.split("-");
    const from = base === "*" ? min : Number(fromText);
    const to = toText !== undefined ? Number(toText) : base === "*" || item.includes("/") ? max : from;
    for (let value = from; value <= to; value += Number(by)) values.add(value);
  }
  return values;
}
