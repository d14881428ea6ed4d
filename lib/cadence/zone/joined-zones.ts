import type { Zone } from "./zone-spans.ts";

/** A zone that has the rules of one up to an instant and those of another from then on: where they differ there, its clocks change. */
export function joinedZones(earlier: Zone, later: Zone, at: number): Zone {
  return {
    spanAt(instant) {
      if (instant < at) {
        const span = earlier.spanAt(instant);
        return { ...span, end: Math.min(span.end, at) };
      }
      const span = later.spanAt(instant);
      if (span.start > at) return span;
      return { ...span, start: at, offsetBefore: earlier.spanAt(at - 1).offset };
    },
  };
}
