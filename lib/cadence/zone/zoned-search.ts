import type { ClockRule, Dst } from "./clock-rule.ts";
import type { CountingSearch, WallSearch } from "./wall-search.ts";
import type { Zone, ZoneSpan } from "./zone-spans.ts";

/**
 * A longer gap is a correction of the calendar, such as a day that a zone left out: times in it do
 * not run after it.
 */
export const GAP_MAX_MS = 3 * 3_600_000;

/**
 * The most steps of a search. Most searches need few: a step goes from one wall time of the cadence
 * to the next, and reads only the spans around it.
 */
const SPANS_MAX = 1_000;

/** The bound of offsets from UTC: a wall time is searched this far around the same time in UTC. */
export const OFFSET_MAX_MS = 26 * 3_600_000;

/** Near the limit of dates; nothing is searched beyond it. */
const INSTANT_MAX = 8e15;

/**
 * `nextInZone` and `previousInZone` read one span of the zone after the other. The occurrences in a
 * span depend on the span alone, so the start of a search does not change them.
 */
export function nextInZone(search: WallSearch, rule: ClockRule, zone: Zone, after: number): number | null {
  if (!(Math.abs(after) < INSTANT_MAX)) return null;
  let from = Math.floor(after) + 1;
  for (let step = 0; step < SPANS_MAX; step += 1) {
    const span = zone.spanAt(from);
    if (rule.gap === "next" && span.start === from && fellIntoGap(search, span)) return span.start;
    const wall = search.atOrAfter(Math.max(from + span.offset, firstWall(span, rule)));
    if (wall !== null && wall < endWall(span, rule, zone)) return wall - span.offset;
    // Close to the end of a span, an hour may be repeated, with wall times that the search has just
    // passed.
    if (span.end - from <= OFFSET_MAX_MS) from = span.end;
    else if (wall === null) return null;
    else from = Math.max(span.end, wall - OFFSET_MAX_MS);
  }
  return null;
}

export function previousInZone(
  search: WallSearch,
  rule: ClockRule,
  zone: Zone,
  before: number,
): number | null {
  if (!(Math.abs(before) < INSTANT_MAX)) return null;
  let upTo = Math.ceil(before) - 1;
  for (let step = 0; step < SPANS_MAX; step += 1) {
    const span = zone.spanAt(upTo);
    const wall = search.atOrBefore(Math.min(upTo + span.offset, endWall(span, rule, zone) - 1));
    if (wall !== null && wall >= firstWall(span, rule)) return wall - span.offset;
    if (rule.gap === "next" && fellIntoGap(search, span)) return span.start;
    if (upTo - span.start <= OFFSET_MAX_MS) upTo = span.start - 1;
    else if (wall === null) return null;
    else upTo = Math.min(span.start - 1, wall + OFFSET_MAX_MS);
  }
  return null;
}

/**
 * The number of instants that `nextInZone` would find in `(after, upTo]`, span by span; if there
 * are more than `max`, any number above it.
 */
export function countInZone(
  search: CountingSearch,
  rule: ClockRule,
  zone: Zone,
  { after, upTo, max }: { after: number; upTo: number; max: number },
): number {
  if (!(Math.abs(after) < INSTANT_MAX)) return 0;
  const end = Math.floor(upTo) + 1;
  let from = Math.floor(after) + 1;
  let count = 0;
  while (from < end && count <= max) {
    const first = nextInZone(search, rule, zone, from - 1);
    if (first === null || first >= end) return count;
    const span = zone.spanAt(first);
    // Several wall times that fell into the gap before a span are one instant at its beginning.
    const fell = first === span.start && rule.gap === "next" && fellIntoGap(search, span);
    if (fell) count += 1;
    const wallFrom = Math.max((fell ? first + 1 : first) + span.offset, firstWall(span, rule));
    const wallEnd = Math.min(Math.min(end, span.end) + span.offset, endWall(span, rule, zone));
    count += search.countBetween(wallFrom, wallEnd, max - count);
    from = span.end;
  }
  return count;
}

/**
 * The first wall time of a span that can be an occurrence. A time that runs on the first pass is
 * left out of the repeated hour.
 */
function firstWall({ start, offset, offsetBefore }: ZoneSpan, { overlap }: ClockRule): number {
  return start + (overlap === "first" ? Math.max(offset, offsetBefore) : offset);
}

/**
 * The end, exclusive, of the wall times of a span. A time that runs on the last pass is left out of
 * the hour before its repetition.
 */
function endWall({ end, offset }: ZoneSpan, { overlap }: ClockRule, zone: Zone): number {
  return end + (overlap === "last" ? Math.min(offset, zone.spanAt(end).offset) : offset);
}

function fellIntoGap(search: WallSearch, { start, offset, offsetBefore }: ZoneSpan): boolean {
  const gap = offset - offsetBefore;
  if (gap <= 0 || gap > GAP_MAX_MS) return false;
  const wall = search.atOrAfter(start + offsetBefore);
  return wall !== null && wall < start + offset;
}

/** How a wall time maps to instants of a zone. */
export type WallTime =
  /** The instants with this wall time, usually one. */
  | { kind: "exists"; at: readonly [number, ...number[]] }
  /**
   * The clocks skip this time. `end` is the first instant after the gap; `long` is true if the zone
   * left out a whole day.
   */
  | { kind: "gap"; end: number; long: boolean };

export function wallTimeIn(zone: Zone, wall: number): WallTime {
  const at: number[] = [];
  let gap: WallTime = { kind: "gap", end: wall, long: true };
  for (let from = wall - OFFSET_MAX_MS; from < wall + OFFSET_MAX_MS; ) {
    const span = zone.spanAt(from);
    const { start, end, offset, offsetBefore } = span;
    if (wall >= start + offset && wall < end + offset) at.push(wall - offset);
    if (wall >= start + offsetBefore && wall < start + offset) {
      gap = { kind: "gap", end: start, long: offset - offsetBefore > GAP_MAX_MS };
    }
    from = end;
  }
  const [first, ...rest] = at;
  return first === undefined ? gap : { kind: "exists", at: [first, ...rest] };
}

/** The instant at which a wall time occurs once; null if it never does. */
export function instantOfWall(zone: Zone, wall: number, dst?: Dst): number | null {
  const time = wallTimeIn(zone, wall);
  if (time.kind === "gap") return time.long || dst?.gap === "skip" ? null : time.end;
  return dst?.overlap === "last" ? (time.at.at(-1) ?? time.at[0]) : time.at[0];
}
