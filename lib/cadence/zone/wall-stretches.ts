import { MS_PER_DAY } from "./civil.ts";
import type { Zone } from "./zone-spans.ts";
import { OFFSET_MAX_MS } from "./zoned-search.ts";

/** Wall times, see civil.ts. */
export interface Walls {
  /** Inclusive. */
  from: number;
  /** Exclusive. */
  end: number;
}

export interface Stretch {
  /** Inclusive. */
  start: number;
  /** Exclusive. */
  end: number;
  /** Added to an instant of the stretch, it gives the wall time. */
  offset: number;
}

/** The stretches of time in which a zone's clocks show these wall times. */
export function stretchesShowing(zone: Zone, { from, end }: Walls): Stretch[] {
  const stretches: Stretch[] = [];
  for (let at = from - OFFSET_MAX_MS; at < end + OFFSET_MAX_MS; ) {
    const span = zone.spanAt(at);
    const { offset } = span;
    const stretch = {
      start: Math.max(at, span.start, from - offset),
      end: Math.min(span.end, end - offset),
      offset,
    };
    if (stretch.start < stretch.end) stretches.push(stretch);
    at = span.end;
  }
  return stretches;
}

/**
 * The lowest wall time that the clocks have not yet shown at an instant. In a repeated hour it is
 * the end of that hour.
 */
export function wallAfter(zone: Zone, instant: number): number {
  let wall = Number.NEGATIVE_INFINITY;
  for (let at = instant - OFFSET_MAX_MS; at <= instant; ) {
    const { end, offset } = zone.spanAt(at);
    wall = Math.max(wall, Math.min(end, instant + 1) + offset);
    at = end;
  }
  return wall;
}

export function dayOf(wall: number): number {
  return Math.floor(wall / MS_PER_DAY);
}

export function dayAt(zone: Zone, instant: number): number {
  return dayOf(instant + zone.spanAt(instant).offset);
}
