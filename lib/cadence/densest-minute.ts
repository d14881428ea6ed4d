import type { Cadence } from "./cadence-kinds.ts";
import { moveDaysMax } from "./calendared.ts";
import { compiledCron } from "./cron/cron.ts";
import type { TimesOfDay } from "./most-times.ts";
import { MS_PER_DAY } from "./zone/civil.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

/**
 * The fires of the densest minute, by the form of the cadence alone. A longer slot makes all
 * occurrences within it due at one moment, so they count as one minute. Neither days, a window nor a
 * calendar lowers the number. Single instants have none. The real minute may have two more: one at
 * the end of a clock gap, and one of the intervals of a list that all begin at one instant.
 */
export function firesInDensestMinute(cadence: Cadence, slotMs = 0): number {
  const windowMs = Math.max(MINUTE_MS, slotMs);
  const members = membersOf(cadence, false);
  const crons = members.flatMap(({ of }) => (of.kind === "cron" ? [compiledCron(of.expression).times] : []));
  const intervals = members.map(({ of, moves }) => {
    if (of.kind !== "interval") return 0;
    return moves ? movedFires(of.everyMs, windowMs) : intervalFires(of.everyMs, windowMs);
  });
  return intervals.reduce((sum, fires) => sum + fires, cronFires(crons, Math.ceil(windowMs / MINUTE_MS)));
}

interface Member {
  of: Cadence;
  /** A calendar moves its excluded days. */
  moves: boolean;
}

function membersOf(cadence: Cadence, moves: boolean): Member[] {
  switch (cadence.kind) {
    case "union":
      return cadence.of.flatMap((member) => membersOf(member, moves));
    case "calendared":
      return membersOf(cadence.of, moves || cadence.on !== "skip");
    case "window":
      return membersOf(cadence.of, moves);
    default:
      return [{ of: cadence, moves }];
  }
}

/**
 * Each minute of a cron has all of its seconds. So has each window that is a minute long, wherever it
 * begins. A calendar moves occurrences by whole days, so it adds no seconds.
 */
function cronFires(crons: readonly TimesOfDay[], windowMinutes: number): number {
  const seconds = new Set(crons.flatMap((times) => times.seconds));
  if (windowMinutes === 1) return seconds.size;
  const minutes = crons.flatMap(({ hours, minutes: ofHour }) =>
    hours.flatMap((hour) => ofHour.map((minute) => hour * 60 + minute)),
  );
  return seconds.size * mostTogether([...new Set(minutes)], windowMinutes);
}

/** The most of these minutes of each day within a window of that many minutes. */
function mostTogether(ofDay: number[], windowMinutes: number): number {
  const today = ofDay.sort((one, other) => one - other);
  const minutes = [...today, ...today.map((minute) => minute + DAY_MINUTES)];
  let most = 0;
  let first = 0;
  for (const [index, minute] of minutes.entries()) {
    while (minute - (minutes[first] ?? minute) >= windowMinutes) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** By the rate; multiples of the window fall together with each other, and add nothing to a list. */
function intervalFires(everyMs: number, windowMs: number): number {
  if (everyMs < windowMs) return windowMs / everyMs;
  return everyMs % windowMs === 0 ? 0 : 1;
}

/**
 * As `intervalFires`, for a calendar that moves up to a month of days onto one. Days have different
 * times if the interval does not divide the day, and all of their times are multiples of `step`.
 */
function movedFires(everyMs: number, windowMs: number): number {
  const step = commonDivisor(everyMs, MS_PER_DAY);
  if (step >= windowMs) return intervalFires(everyMs, windowMs);
  return Math.min(windowMs / step, (moveDaysMax + 1) * Math.max(1, windowMs / everyMs));
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other);
}
