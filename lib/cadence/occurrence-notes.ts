import { nextAfter, nextRunAfter, previousBefore } from "./cadence.ts";
import type { Cadence, Calendared } from "./cadence-kinds.ts";
import { calendarIntervalSearch } from "./calendar-interval.ts";
import { isExcluded } from "./calendar-rules.ts";
import { nominalOf, stretchesLeftOut } from "./calendared.ts";
import { countWithin } from "./count-within.ts";
import { compiledCron } from "./cron/cron.ts";
import { MS_PER_DAY } from "./zone/civil.ts";
import { gapNotes, leftOutNotes, movedIntoGapNotes, passNotes, type ZonedTimes } from "./zone/clock-notes.ts";
import { clockRule } from "./zone/clock-rule.ts";
import { canonicalTimezone } from "./zone/timezone.ts";
import { dayOf } from "./zone/wall-stretches.ts";
import { dateText, listText, wallText } from "./zone/wall-text.ts";
import { type Zone, zoneNamed } from "./zone/zone-spans.ts";

export interface DescribedOccurrence {
  at: number;
  wall: string;
  /** Why the occurrence is at this instant, if a clock change or a calendar affects it. */
  note: string | null;
}

export const describedMax = 1_000;

/**
 * The limits of counting occurrences that were left out: for one occurrence, and for a whole
 * request.
 */
const COUNTED_MAX = 1_000;
const COUNTED_IN_ALL_MAX = 20_000;

/** The coming runs strictly after an instant, up to `describedMax`. */
export function describeOccurrences(
  cadence: Cadence,
  { timezone, after, n }: { timezone: string; after: number; n: number },
): DescribedOccurrence[] {
  const described: DescribedOccurrence[] = [];
  // The stored zone may be unknown to this runtime.
  const shownIn = canonicalTimezone(timezone) ?? "UTC";
  const view: View = { zone: zoneNamed(shownIn), toCount: COUNTED_IN_ALL_MAX, countsOn: () => true };
  let since = after;
  while (described.length < Math.min(n, describedMax)) {
    const at = nextRunAfter(cadence, since);
    if (at === null) break;
    const notes = [...new Set(notesOn(cadence, { since, at }, view))];
    described.push({ at, wall: wallText(at, shownIn), note: notes.length === 0 ? null : notes.join("; ") });
    since = at;
  }
  return described;
}

interface View {
  /** The zone of the reader, for cadences without a zone of their own. */
  zone: Zone;
  /** How many left-out occurrences may still be counted for this request. */
  toCount: number;
  /** False for wall times that would not have run anyway. */
  countsOn: (wall: number) => boolean;
}

/** An occurrence at `at`. Its note mentions occurrences that were left out after `since`. */
interface Told {
  since: number;
  at: number;
}

function notesOn(cadence: Cadence, told: Told, view: View): string[] {
  switch (cadence.kind) {
    case "once":
    case "interval":
      return occursAt(cadence, told.at) ? passNotes(view.zone, "both", told.at) : [];
    case "cron":
    case "calendar-interval": {
      const times = zonedTimes(cadence);
      const leftOut = leftOutNotes(times, { ...told, countsOn: view.countsOn });
      if (!occursAt(cadence, told.at)) return leftOut;
      const passes = passNotes(times.zone, times.rule.overlap, told.at);
      return [...leftOut, ...gapNotes(times, told.at), ...passes];
    }
    case "union":
      return cadence.of.flatMap((member) => notesOn(member, told, view));
    case "calendared":
      return cadence.on === "skip" ? skipNotes(cadence, told, view) : moveNotes(cadence, told, view);
    case "window": {
      const { of, startsAt } = cadence;
      const since = startsAt === null ? told.since : Math.max(told.since, startsAt - 1);
      return occursAt(cadence, told.at) ? notesOn(of, { ...told, since }, view) : [];
    }
    case "unreadable":
      return [];
  }
}

function occursAt(cadence: Cadence, at: number): boolean {
  return nextAfter(cadence, at - 1) === at;
}

function zonedTimes(cadence: Extract<Cadence, { kind: "cron" | "calendar-interval" }>): ZonedTimes {
  const zone = zoneNamed(cadence.timezone);
  if (cadence.kind === "calendar-interval") {
    return { search: calendarIntervalSearch(cadence), rule: clockRule(true, cadence.dst), zone };
  }
  const search = compiledCron(cadence.expression);
  return { search, rule: clockRule(search.fixedTime, cadence.dst), zone };
}

function skipNotes(c: Calendared, told: Told, view: View): string[] {
  const countsOn = (wall: number) => !isExcluded(c.rules, dayOf(wall));
  return [
    ...countNotes(c, [{ after: told.since, upTo: told.at - 1 }], view),
    ...notesOn(c.of, told, { ...view, countsOn }),
  ];
}

const inner = { nextAfter, previousBefore };

function moveNotes(c: Calendared, told: Told, view: View): string[] {
  const { at, since } = told;
  const zone = zoneNamed(c.timezone);
  const nominal = nominalOf(c, at, inner);
  const moved = nominal.filter((instant) => instant !== at);
  const leftOut = stretchesLeftOut(c, { after: since, upTo: at - 1 });
  const notes = countNotes(c, leftOut, view);
  if (moved.length > 0) {
    const days = daysText([...new Set(moved.map((instant) => dateIn(zone, instant)))]);
    const also = moved.length < nominal.length;
    notes.push(
      also ? `also takes what the calendar moved from ${days}` : `moved from ${days} by the calendar`,
    );
  }
  const clockNotes = moved.flatMap((instant) => movedByClock(zone, instant, at));
  return [...notes, ...clockNotes, ...notesOn(c.of, told, view)];
}

/** The effect of a clock change on an occurrence that came from another day. */
function movedByClock(zone: Zone, nominal: number, at: number): string[] {
  const wall = nominal + zone.spanAt(nominal).offset;
  const timeOfDay = wall - dayOf(wall) * MS_PER_DAY;
  const shown = at + zone.spanAt(at).offset;
  // A time inside a clock gap just before midnight moves past midnight: its own day is the one
  // before.
  const day = timeOfDay > shown - dayOf(shown) * MS_PER_DAY ? dayOf(shown) - 1 : dayOf(shown);
  const into = movedIntoGapNotes(zone, at, day * MS_PER_DAY + timeOfDay);
  return into.length > 0 ? into : passNotes(zone, "first", at);
}

/** After weeks of excluded days, a list of each day would hide the message. */
const NAMED_DAYS_MAX = 3;

function daysText(days: readonly string[]): string {
  return listText(days.length > NAMED_DAYS_MAX ? [...days.slice(0, NAMED_DAYS_MAX), "other days"] : days);
}

function dateIn(zone: Zone, instant: number): string {
  return dateText(instant + zone.spanAt(instant).offset);
}

/**
 * A note with the number of occurrences of the inner cadence that were left out in these stretches.
 */
function countNotes(
  c: Calendared,
  stretches: readonly { after: number; upTo: number }[],
  view: View,
): string[] {
  let count = 0;
  let more = false;
  for (const { after, upTo } of stretches) {
    const max = Math.min(COUNTED_MAX - count, view.toCount);
    const counted = countWithin(c.of, after, upTo, max);
    view.toCount -= counted.count;
    count += counted.count;
    more ||= counted.more;
  }
  if (count === 0 && !more) return [];
  const some = count === 0 ? "some" : count.toLocaleString("en-US");
  return [`${more && count > 0 ? "more than " : ""}${some} left out by the calendar before this`];
}
