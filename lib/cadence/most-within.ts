import type { Cadence, Calendared } from "./cadence-kinds.ts";
import { type CalendarRules, weekdays } from "./calendar-rules.ts";
import { moveDaysMax } from "./calendared.ts";
import { compiledCron } from "./cron/cron.ts";
import { leastDistance, mostTimesWithin, type TimesOfDay } from "./most-times.ts";
import { MS_PER_DAY } from "./zone/civil.ts";

/** The largest known change of clocks (Antarctica/Troll). No zone changes twice within a day. */
const CHANGE_SECONDS = 2 * 3_600;

/**
 * The most occurrences that a clock change adds to a window: it divides the window in two, and
 * times in its gap occur at the end of the gap.
 */
const changeSlack = 3;

/**
 * The most occurrences that clock gaps add where a calendar moves: a time in a gap, on an excluded
 * day, moves to a time of day that the cadence does not name. A window meets at most two such gaps.
 */
const moveSlack = 2;

/**
 * The largest number of occurrences in any window of this length, both ends included. It is
 * computed from the form of the cadence, without a search. It may be too high where days, calendars
 * and clock changes leave occurrences out, and is never too low.
 */
export function mostWithin(cadence: Cadence, lengthMs: number): number {
  switch (cadence.kind) {
    case "once":
      return 1;
    case "interval":
      return Math.floor(lengthMs / cadence.everyMs) + 1;
    case "cron":
      return mostInZone(compiledCron(cadence.expression).times, cadence.timezone, lengthMs);
    case "calendar-interval":
      return mostInZone(onceADay, cadence.timezone, lengthMs);
    case "union":
      return sum(cadence.of, (member) => mostWithin(member, lengthMs));
    case "window": {
      const { of, startsAt, endsAt } = cadence;
      const open = startsAt === null || endsAt === null ? lengthMs : Math.max(0, endsAt - startsAt);
      return mostWithin(of, Math.min(open, lengthMs));
    }
    case "calendared":
      return cadence.on === "skip"
        ? mostWithin(cadence.of, lengthMs)
        : mostMoved(cadence, cadence.of, lengthMs);
    case "unreadable":
      return 0;
  }
}

const onceADay: TimesOfDay = { hours: [0], minutes: [0], seconds: [0] };

/**
 * As `mostTimesWithin`, with room for a clock change: where clocks go back, a window has an hour
 * twice; where they go forward, it reaches up to two hours further.
 */
function mostInZone(times: TimesOfDay, timezone: string, lengthMs: number): number {
  const seconds = Math.floor(lengthMs / 1_000);
  if (timezone === "UTC") return mostTimesWithin(times, seconds);
  const byDistance = Math.floor(seconds / leastDistance(times)) + 1;
  const byTimes = mostTimesWithin(times, seconds + CHANGE_SECONDS) + mostTimesWithin(times, CHANGE_SECONDS);
  return Math.min(byDistance, byTimes) + changeSlack;
}

/**
 * The most occurrences in a window if a calendar moves several days onto one. Occurrences of these
 * days at the same time of day become one.
 */
function mostMoved(calendared: Calendared, of: Cadence, lengthMs: number): number {
  const { timezone, rules } = calendared;
  switch (of.kind) {
    case "once":
      return 1;
    case "union":
      return sum(of.of, (member) => mostMoved(calendared, member, lengthMs));
    case "window":
      return mostMoved(calendared, of.of, lengthMs);
    case "cron":
    case "calendar-interval":
      if (of.timezone === timezone) return mostWithin(of, lengthMs) + moveSlack;
      break;
    case "interval":
      // The interval has the same times every day, except for a clock change between two days.
      if (MS_PER_DAY % of.everyMs === 0) return 2 * (mostWithin(of, lengthMs) + changeSlack) + moveSlack;
      break;
    case "calendared":
      break;
  }
  // The day itself counts as well, and the day of a clock change once more.
  const days = longestStretch(rules) + 2;
  return days * (mostWithin(of, lengthMs) + changeSlack) + moveSlack;
}

/** The longest row of excluded days whose occurrences still move. */
function longestStretch({ dates, weekly }: CalendarRules): number {
  if (dates.length > 0) return moveDaysMax;
  let longest = 0;
  let stretch = 0;
  for (const day of [...weekdays, ...weekdays]) {
    stretch = weekly.includes(day) ? stretch + 1 : 0;
    longest = Math.max(longest, stretch);
  }
  return longest;
}

function sum(members: readonly Cadence[], of: (member: Cadence) => number): number {
  return members.reduce((most, member) => most + of(member), 0);
}
