import type { Cadence } from "./cadence-kinds.ts";
import { calendarIntervalSearch } from "./calendar-interval.ts";
import { isCalendarRun } from "./calendared.ts";
import { compiledCron } from "./cron/cron.ts";
import { nextCalendared, nextCalendarRun, previousCalendared, previousCalendarRun } from "./far-searches.ts";
import { clockRule } from "./zone/clock-rule.ts";
import { zoneNamed } from "./zone/zone-spans.ts";
import { nextInZone, previousInZone } from "./zone/zoned-search.ts";

export type { CalendarInterval } from "./calendar-interval.ts";
export type { Dst } from "./zone/clock-rule.ts";

/**
 * The first occurrence strictly after an instant; null if there is none. Occurrences that a
 * calendar skips count.
 */
export function nextAfter(cadence: Cadence, after: number): number | null {
  switch (cadence.kind) {
    case "once":
      return cadence.at > after ? cadence.at : null;
    case "interval": {
      const { everyMs, firstAt } = cadence;
      return after < firstAt ? firstAt : firstAt + (Math.floor((after - firstAt) / everyMs) + 1) * everyMs;
    }
    case "cron": {
      const cron = compiledCron(cadence.expression);
      return nextInZone(cron, clockRule(cron.fixedTime, cadence.dst), zoneNamed(cadence.timezone), after);
    }
    case "calendar-interval": {
      const rule = clockRule(true, cadence.dst);
      return nextInZone(calendarIntervalSearch(cadence), rule, zoneNamed(cadence.timezone), after);
    }
    case "union":
      return earliest(cadence.of, (member) => nextAfter(member, after));
    case "calendared":
      return nextCalendared(cadence, after, inner);
    case "window":
      return nextInWindow(cadence, after, nextAfter);
    case "unreadable":
      return null;
  }
}

/** The last occurrence strictly before an instant; null if there is none. */
export function previousBefore(cadence: Cadence, before: number): number | null {
  switch (cadence.kind) {
    case "once":
      return cadence.at < before ? cadence.at : null;
    case "interval": {
      const { everyMs, firstAt } = cadence;
      return before <= firstAt ? null : firstAt + (Math.ceil((before - firstAt) / everyMs) - 1) * everyMs;
    }
    case "cron": {
      const cron = compiledCron(cadence.expression);
      return previousInZone(
        cron,
        clockRule(cron.fixedTime, cadence.dst),
        zoneNamed(cadence.timezone),
        before,
      );
    }
    case "calendar-interval": {
      const rule = clockRule(true, cadence.dst);
      return previousInZone(calendarIntervalSearch(cadence), rule, zoneNamed(cadence.timezone), before);
    }
    case "union":
      return latest(cadence.of, (member) => previousBefore(member, before));
    case "calendared":
      return previousCalendared(cadence, before, inner);
    case "window":
      return previousInWindow(cadence, before, previousBefore);
    case "unreadable":
      return null;
  }
}

/** As `nextAfter`, without the occurrences that a calendar skips. */
export function nextRunAfter(cadence: Cadence, after: number): number | null {
  switch (cadence.kind) {
    case "union":
      return earliest(cadence.of, (member) => nextRunAfter(member, after));
    case "calendared":
      return nextCalendarRun(cadence, after, inner);
    case "window":
      return nextInWindow(cadence, after, nextRunAfter);
    default:
      return nextAfter(cadence, after);
  }
}

/** As `previousBefore`, without the occurrences that a calendar skips. */
export function previousRunBefore(cadence: Cadence, before: number): number | null {
  switch (cadence.kind) {
    case "union":
      return latest(cadence.of, (member) => previousRunBefore(member, before));
    case "calendared":
      return previousCalendarRun(cadence, before, inner);
    case "window":
      return previousInWindow(cadence, before, previousRunBefore);
    default:
      return previousBefore(cadence, before);
  }
}

/** False for an occurrence that a calendar skips. */
export function isRun(cadence: Cadence, at: number): boolean {
  switch (cadence.kind) {
    case "union":
      return cadence.of.some((member) => nextAfter(member, at - 1) === at && isRun(member, at));
    case "calendared":
      // A moved occurrence is none of the cadence that the calendar moves.
      return cadence.on !== "skip" || (isCalendarRun(cadence, at) && isRun(cadence.of, at));
    case "window":
      return isRun(cadence.of, at);
    default:
      return true;
  }
}

/** The searches for the inner cadence, whose occurrences a calendar moves. */
const inner = { nextAfter, previousBefore };

type Search = (cadence: Cadence, from: number) => number | null;
type Window = Extract<Cadence, { kind: "window" }>;

function nextInWindow({ of, startsAt, endsAt }: Window, after: number, next: Search): number | null {
  const found = next(of, startsAt === null ? after : Math.max(after, startsAt - 1));
  return found !== null && endsAt !== null && found >= endsAt ? null : found;
}

function previousInWindow({ of, startsAt, endsAt }: Window, before: number, previous: Search): number | null {
  const found = previous(of, endsAt === null ? before : Math.min(before, endsAt));
  return found !== null && startsAt !== null && found < startsAt ? null : found;
}

function earliest(members: readonly Cadence[], ask: (member: Cadence) => number | null): number | null {
  let found: number | null = null;
  for (const member of members) {
    const at = ask(member);
    if (at !== null && (found === null || at < found)) found = at;
  }
  return found;
}

function latest(members: readonly Cadence[], ask: (member: Cadence) => number | null): number | null {
  let found: number | null = null;
  for (const member of members) {
    const at = ask(member);
    if (at !== null && (found === null || at > found)) found = at;
  }
  return found;
}

/** True if a calendar may skip some of the occurrences. */
export function leavesOut(cadence: Cadence): boolean {
  if (cadence.kind === "window") return leavesOut(cadence.of);
  return (cadence.kind === "calendared" || cadence.kind === "unreadable") && cadence.on === "skip";
}

/** Why the cadence cannot be read; null if it can. */
export function unreadableReason(cadence: Cadence): string | null {
  switch (cadence.kind) {
    case "unreadable":
      return cadence.reason;
    case "window":
    case "calendared":
      return unreadableReason(cadence.of);
    default:
      return null;
  }
}

/** The instants of the `at` entries of the cadence; empty if it has none. */
export function singleTimes(cadence: Cadence): number[] {
  switch (cadence.kind) {
    case "once":
      return [cadence.at];
    case "union":
      return cadence.of.flatMap(singleTimes);
    case "window":
    case "calendared":
      return singleTimes(cadence.of);
    default:
      return [];
  }
}
