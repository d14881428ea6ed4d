import type { Zone } from "./zone-spans.ts";

/**
 * A zone with the rules of one zone before an instant and those of another from then on. Where the
 * two differ at that instant, its clocks change.
 */
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
