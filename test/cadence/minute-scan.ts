/** The definition of a cron expression spelled out minute by minute: slow, plain, and sharing nothing with lib/cadence. */
const MINUTE = 60_000;
const GAP_MAX = 3 * 60 * MINUTE;

/** All occurrences in `(from, upTo]`. */
export function scanUtc(expression: string, from: number, upTo: number): number[] {
  const matches = wallMatcher(expression);
  const found: number[] = [];
  for (let at = Math.floor(from / MINUTE) * MINUTE + MINUTE; at <= upTo; at += MINUTE) {
    if (matches(at)) found.push(at);
  }
  return found;
}

/** The same in a zone, with the rule for clock changes, walking through real time from a day before. */
export function scanZone(expression: string, timezone: string, from: number, upTo: number): number[] {
  const matches = wallMatcher(expression);
  const [minute = "", hour = ""] = expression.split(" ");
  const fixedTime = !/[*/]/.test(minute + hour);
  const wallAt = wallClock(timezone);
  const found: number[] = [];
  let at = Math.floor(from / MINUTE) * MINUTE - 30 * 60 * MINUTE;
  let latestWall = wallAt(at);
  let before = latestWall;
  while (at < upTo) {
    at += MINUTE;
    const wall = wallAt(at);
    const occurs =
      (matches(wall) && !(fixedTime && wall <= latestWall)) ||
      (fixedTime && wall - before - MINUTE <= GAP_MAX && someMatch(matches, before + MINUTE, wall));
    if (occurs && at > from && at <= upTo) found.push(at);
    before = wall;
    latestWall = Math.max(latestWall, wall);
  }
  return found;
}

function someMatch(matches: (wall: number) => boolean, from: number, end: number): boolean {
  for (let wall = from; wall < end; wall += MINUTE) if (matches(wall)) return true;
  return false;
}

/** Wall time by the fields that Intl writes, as if they were UTC. */
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

function wallMatcher(expression: string): (wall: number) => boolean {
  const [, , dayText, , weekdayText] = expression.split(" ");
  const [minutes, hours, days, months, weekdays] = expression.split(" ").map(fieldMatcher);
  return (wall) => {
    const date = new Date(wall);
    if (!minutes?.(date.getUTCMinutes(), 0, 59) || !hours?.(date.getUTCHours(), 0, 23)) return false;
    if (!months?.(date.getUTCMonth() + 1, 1, 12)) return false;
    const day = days?.(date.getUTCDate(), 1, 31) ?? false;
    const weekday = weekdays?.(date.getUTCDay(), 0, 6) ?? false;
    return dayText === "*" ? weekday : weekdayText === "*" ? day : day || weekday;
  };
}

function fieldMatcher(field: string): (value: number, min: number, max: number) => boolean {
  return (value, min, max) =>
    field.split(",").some((item) => {
      const [base = "", by] = item.split("/");
      const [fromText = "", toText] = base.split("-");
      const from = base === "*" ? min : Number(fromText);
      const to = toText !== undefined ? Number(toText) : base === "*" || by !== undefined ? max : from;
      return value >= from && value <= to && (value - from) % Number(by ?? 1) === 0;
    });
}
