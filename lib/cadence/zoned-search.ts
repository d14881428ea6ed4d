import type { CronSearch } from "./cron-search.ts";
import type { Zone, ZoneSpan } from "./zone-spans.ts";

/**
 * The rule for clock changes, that of the oldest crons. A fixed time that falls into a gap comes once, at the first instant
 * after it, and several in one gap are one; in a repeated hour it comes on the first pass only. Anything else follows real
 * time: it leaves out what does not exist and comes in both passes. A change of more than three hours is a correction of the
 * calendar, not a gap to be made up for.
 */
const GAP_MAX_MS = 3 * 3_600_000;

/** Four spans a year are usual; the sparsest expression comes within 40 years. */
const SPANS_MAX = 1_000;

/**
 * Both functions look at one span of the zone after the other. What occurs in a span is fixed by the span alone, so that it
 * does not matter from where one asks.
 */
export function nextInZone(search: CronSearch, fixedTime: boolean, zone: Zone, after: number): number | null {
  let from = Math.floor(after) + 1;
  for (let step = 0; step < SPANS_MAX; step += 1) {
    const span = zone.spanAt(from);
    if (fixedTime && span.start === from && fellIntoGap(search, span)) return span.start;
    const wall = search.atOrAfter(Math.max(from + span.offset, firstWall(span, fixedTime)));
    if (wall === null) return null;
    if (wall - span.offset < span.end) return wall - span.offset;
    from = span.end;
  }
  return null;
}

export function previousInZone(
  search: CronSearch,
  fixedTime: boolean,
  zone: Zone,
  before: number,
): number | null {
  let upTo = Math.ceil(before) - 1;
  for (let step = 0; step < SPANS_MAX; step += 1) {
    const span = zone.spanAt(upTo);
    const wall = search.atOrBefore(upTo + span.offset);
    if (wall === null) return null;
    if (wall >= firstWall(span, fixedTime)) return wall - span.offset;
    if (fixedTime && fellIntoGap(search, span)) return span.start;
    upTo = span.start - 1;
  }
  return null;
}

/** From which wall time on a span has occurrences: a fixed time does not come again in an hour that is repeated. */
function firstWall({ start, offset, offsetBefore }: ZoneSpan, fixedTime: boolean): number {
  return start + (fixedTime ? Math.max(offset, offsetBefore) : offset);
}

function fellIntoGap(search: CronSearch, { start, offset, offsetBefore }: ZoneSpan): boolean {
  const gap = offset - offsetBefore;
  if (gap <= 0 || gap > GAP_MAX_MS) return false;
  const wall = search.atOrAfter(start + offsetBefore);
  return wall !== null && wall < start + offset;
}

/** No zone is further from UTC than this, so a wall time is looked for around the same time in UTC. */
const OFFSET_MAX_MS = 26 * 3_600_000;

/** The instant of one wall time, by the rule for fixed times; null on a day that a zone has left out. */
export function instantOfWall(zone: Zone, wall: number): number | null {
  let span = zone.spanAt(wall - OFFSET_MAX_MS);
  while (span.start < wall + OFFSET_MAX_MS) {
    const { start, end, offset, offsetBefore } = span;
    if (wall < start + offset) return offset - offsetBefore <= GAP_MAX_MS ? start : null;
    if (wall < end + offset) return wall - offset;
    span = zone.spanAt(end);
  }
  return null;
}
