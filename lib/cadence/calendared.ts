import { FURTHEST_MS } from "./bounds.ts";
import type { Cadence, Calendared } from "./cadence-kinds.ts";
import { isExcluded, nextAllowedDay, previousAllowedDay, stretchDaysMax } from "./calendar-rules.ts";
import { MS_PER_DAY } from "./zone/civil.ts";
import {
  dayAt,
  dayOf,
  type Stretch,
  stretchesShowing,
  type Walls,
  wallAfter,
} from "./zone/wall-stretches.ts";
import { type Zone, zoneNamed } from "./zone/zone-spans.ts";
import { instantOfWall, OFFSET_MAX_MS } from "./zone/zoned-search.ts";

/**
 * How a calendar moves occurrences. Days are those of the calendar's zone. An occurrence on an
 * excluded day moves, with its wall time, to the nearest day that is not excluded. If that wall
 * time falls into a clock gap, it moves to the first instant after the gap; in a repeated hour, to
 * the first pass. Occurrences that reach the same instant are one. A day that the zone itself has
 * left out is no day to move to.
 */

/** The searches for the cadence whose occurrences the calendar moves. */
export interface Inner {
  nextAfter(cadence: Cadence, after: number): number | null;
  previousBefore(cadence: Cadence, before: number): number | null;
}

/** An occurrence that would move further than this is left out. */
export const moveDaysMax = 31;

/** The limit of a move, clock changes included. */
const REACH_MS = (moveDaysMax + 2) * MS_PER_DAY;

/** The step of a search through time; longer stretches without occurrences are one step. */
const STEP_MS = 64 * MS_PER_DAY;

/** The first occurrence after an instant, as the calendar moves it; null if none in 100 years. */
export function nextCalendared(c: Calendared, after: number, inner: Inner): number | null {
  if (c.on === "skip") return inner.nextAfter(c.of, after);
  let from = after;
  let until: number | null = null;
  for (;;) {
    const nearest = inner.nextAfter(c.of, from - REACH_MS);
    if (nearest === null) return null;
    from = Math.max(from, nearest - REACH_MS);
    until ??= from + FURTHEST_MS;
    if (from > until) return null;
    const stayed = nextOnAllowedDay(c, { after: from, upTo: from + STEP_MS }, inner);
    const found = nextMoved(c, { after: from, upTo: stayed ?? from + STEP_MS }, inner) ?? stayed;
    if (found !== null) return found;
    from += STEP_MS;
  }
}

export function previousCalendared(c: Calendared, before: number, inner: Inner): number | null {
  if (c.on === "skip") return inner.previousBefore(c.of, before);
  let from = before;
  let until: number | null = null;
  for (;;) {
    const nearest = inner.previousBefore(c.of, from + REACH_MS);
    if (nearest === null) return null;
    from = Math.min(from, nearest + REACH_MS);
    until ??= from - FURTHEST_MS;
    if (from < until) return null;
    const stayed = previousOnAllowedDay(c, { before: from, downTo: from - STEP_MS }, inner);
    const found = previousMoved(c, { before: from, downTo: stayed ?? from - STEP_MS }, inner) ?? stayed;
    if (found !== null) return found;
    from -= STEP_MS;
  }
}

/** False for an occurrence that the calendar skips. */
export function isCalendarRun(c: Calendared, at: number): boolean {
  return c.on !== "skip" || !isExcluded(c.rules, dayAt(zoneNamed(c.timezone), at));
}

export function nextCalendarRun(c: Calendared, after: number, inner: Inner): number | null {
  if (c.on !== "skip") return nextCalendared(c, after, inner);
  const first = inner.nextAfter(c.of, after);
  return first === null ? null : nextOnAllowedDay(c, { after, upTo: first + FURTHEST_MS }, inner);
}

export function previousCalendarRun(c: Calendared, before: number, inner: Inner): number | null {
  if (c.on !== "skip") return previousCalendared(c, before, inner);
  const last = inner.previousBefore(c.of, before);
  return last === null ? null : previousOnAllowedDay(c, { before, downTo: last - FURTHEST_MS }, inner);
}

/** The instant to which an inner occurrence moves; null if it is skipped or left out. */
export function movedTo(c: Calendared, at: number): number | null {
  const zone = zoneNamed(c.timezone);
  const wall = at + zone.spanAt(at).offset;
  const day = dayOf(wall);
  if (!isExcluded(c.rules, day)) return at;
  if (c.on === "skip") return null;
  for (let days = 1; days <= moveDaysMax; days += 1) {
    const by = c.on === "next" ? days : -days;
    if (isFree(c, zone, day + by)) return instantOfWall(zone, wall + by * MS_PER_DAY);
  }
  return null;
}

/** The most instants that `nominalOf` returns. */
const NOMINAL_MAX = 10;

/**
 * The occurrences of the inner cadence that the calendar puts at `at`, in rising order: the first
 * few that it moves there, and `at` itself if that is one on an allowed day.
 */
export function nominalOf(c: Calendared, at: number, inner: Inner): number[] {
  const zone = zoneNamed(c.timezone);
  const stays = c.on === "skip" || !isExcluded(c.rules, dayAt(zone, at));
  const own = stays && inner.nextAfter(c.of, at - 1) === at ? [at] : [];
  if (c.on === "skip") return own;
  const moved: number[] = [];
  const from = wallAfter(zone, at - 1);
  const end = wallAfter(zone, at);
  for (let day = dayOf(from); day <= dayOf(end - 1); day += 1) {
    for (const stretch of stretchesMovedTo(c, day, { from, end })) {
      moved.push(...occurrencesIn(c, stretch, inner));
    }
  }
  const first = moved.sort((a, b) => a - b).slice(0, NOMINAL_MAX - own.length);
  return [...first, ...own].sort((a, b) => a - b);
}

/** The last instant that `nominalOf` would list without a limit; null if `at` is no occurrence. */
export function lastNominalOf(c: Calendared, at: number, inner: Inner): number | null {
  const zone = zoneNamed(c.timezone);
  const stays = c.on === "skip" || !isExcluded(c.rules, dayAt(zone, at));
  let last = stays && inner.nextAfter(c.of, at - 1) === at ? at : null;
  if (c.on === "skip") return last;
  const from = wallAfter(zone, at - 1);
  const end = wallAfter(zone, at);
  for (let day = dayOf(from); day <= dayOf(end - 1); day += 1) {
    for (const stretch of stretchesMovedTo(c, day, { from, end })) {
      const found = inner.previousBefore(c.of, stretch.end);
      if (found !== null && found >= stretch.start && (last === null || found > last)) last = found;
    }
  }
  return last;
}

function occurrencesIn(c: Calendared, { start, end }: Stretch, inner: Inner): number[] {
  const found: number[] = [];
  let next = inner.nextAfter(c.of, start - 1);
  while (next !== null && next < end && found.length < NOMINAL_MAX) {
    found.push(next);
    next = inner.nextAfter(c.of, next);
  }
  return found;
}

/** The stretches in `(after, upTo]` whose occurrences are too far from an allowed day. */
export function stretchesLeftOut(
  c: Calendared,
  { after, upTo }: { after: number; upTo: number },
): { after: number; upTo: number }[] {
  const zone = zoneNamed(c.timezone);
  const left: { after: number; upTo: number }[] = [];
  for (let day = dayAt(zone, after); day <= dayAt(zone, upTo); day += 1) {
    if (!isExcluded(c.rules, day)) continue;
    let first = day;
    while (day - first <= stretchDaysMax && !isFree(c, zone, first - 1)) first -= 1;
    let last = day;
    while (last - day <= stretchDaysMax && !isFree(c, zone, last + 1)) last += 1;
    const [from, to] = c.on === "next" ? [first, last - moveDaysMax] : [first + moveDaysMax, last];
    const walls = { from: from * MS_PER_DAY, end: (to + 1) * MS_PER_DAY };
    for (const { start, end } of from <= to ? stretchesShowing(zone, walls) : []) {
      if (end > after && start <= upTo)
        left.push({ after: Math.max(after, start - 1), upTo: Math.min(upTo, end - 1) });
    }
    day = last;
  }
  return left;
}

/**
 * The first occurrence in `(after, upTo]` on a day that is not excluded; null if there is none.
 * Excluded days are passed in one step, but not beyond a clock change: where the clocks go back
 * over midnight, the day before comes again.
 */
function nextOnAllowedDay(
  c: Calendared,
  { after, upTo }: { after: number; upTo: number },
  inner: Inner,
): number | null {
  const zone = zoneNamed(c.timezone);
  let at = inner.nextAfter(c.of, after);
  while (at !== null && at <= upTo) {
    const span = zone.spanAt(at);
    const day = dayOf(at + span.offset);
    const allowed = nextAllowedDay(c.rules, day);
    if (allowed === day) return at;
    if (allowed === null) return null;
    at = inner.nextAfter(c.of, Math.min(allowed * MS_PER_DAY - span.offset, span.end) - 1);
  }
  return null;
}

function previousOnAllowedDay(
  c: Calendared,
  { before, downTo }: { before: number; downTo: number },
  inner: Inner,
): number | null {
  const zone = zoneNamed(c.timezone);
  let at = inner.previousBefore(c.of, before);
  while (at !== null && at >= downTo) {
    const span = zone.spanAt(at);
    const day = dayOf(at + span.offset);
    const allowed = previousAllowedDay(c.rules, day);
    if (allowed === day) return at;
    if (allowed === null) return null;
    at = inner.previousBefore(c.of, Math.max((allowed + 1) * MS_PER_DAY - span.offset, span.start));
  }
  return null;
}

/**
 * The first instant in `(after, upTo]` to which an occurrence of an excluded day moves; null if
 * there is none. The search ends at the first day with one, since later days have later ones.
 */
function nextMoved(
  c: Calendared,
  { after, upTo }: { after: number; upTo: number },
  inner: Inner,
): number | null {
  const zone = zoneNamed(c.timezone);
  const from = wallAfter(zone, Math.floor(after));
  for (let day = dayOf(from); day <= dayOf(upTo + OFFSET_MAX_MS); day += 1) {
    let wall = Number.POSITIVE_INFINITY;
    for (const { start, end, offset } of stretchesMovedTo(c, day, { from, end: Infinity })) {
      const found = inner.nextAfter(c.of, start - 1);
      if (found !== null && found < end) wall = Math.min(wall, found + offset);
    }
    const at = Number.isFinite(wall) ? instantOfWall(zone, wall) : null;
    if (at !== null) return at <= upTo ? at : null;
  }
  return null;
}

function previousMoved(
  c: Calendared,
  { before, downTo }: { before: number; downTo: number },
  inner: Inner,
): number | null {
  const zone = zoneNamed(c.timezone);
  const end = wallAfter(zone, Math.ceil(before) - 1);
  for (let day = dayOf(end - 1); day >= dayOf(downTo - OFFSET_MAX_MS); day -= 1) {
    let wall = Number.NEGATIVE_INFINITY;
    for (const stretch of stretchesMovedTo(c, day, { from: -Infinity, end })) {
      const found = inner.previousBefore(c.of, stretch.end);
      if (found !== null && found >= stretch.start) wall = Math.max(wall, found + stretch.offset);
    }
    const at = Number.isFinite(wall) ? instantOfWall(zone, wall) : null;
    if (at !== null) return at >= downTo ? at : null;
  }
  return null;
}

/** The stretches of time whose occurrences move to the wall times from `from` to `end` of a day. */
function stretchesMovedTo(c: Calendared, day: number, { from, end }: Walls): Stretch[] {
  const zone = zoneNamed(c.timezone);
  const start = Math.max(from, day * MS_PER_DAY);
  const stop = Math.min(end, (day + 1) * MS_PER_DAY);
  return sourcesOf(c, zone, day).flatMap((source) => {
    const shift = (day - source) * MS_PER_DAY;
    return stretchesShowing(zone, { from: start - shift, end: stop - shift }).map((stretch) => ({
      ...stretch,
      offset: stretch.offset + shift,
    }));
  });
}

/**
 * The days whose occurrences move to `day`: the excluded days directly before it (`next`) or
 * directly after it (`previous`).
 */
function sourcesOf(c: Calendared, zone: Zone, day: number): number[] {
  const step = c.on === "next" ? -1 : 1;
  // Two days are checked, since the zone may have left out the first one.
  const beside = isExcluded(c.rules, day + step) || isExcluded(c.rules, day + 2 * step);
  const sources: number[] = [];
  if (!beside || !isFree(c, zone, day)) return sources;
  let source = day + step;
  while (sources.length < moveDaysMax && !isFree(c, zone, source)) {
    sources.push(source);
    source += step;
  }
  return sources;
}

function isFree(c: Calendared, zone: Zone, day: number): boolean {
  return !isExcluded(c.rules, day) && instantOfWall(zone, day * MS_PER_DAY + MS_PER_DAY / 2) !== null;
}
