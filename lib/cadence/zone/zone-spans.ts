import { BoundedMap } from "../../bounded-map.ts";

/**
 * A stretch of time in which a zone keeps one offset. `end` is exclusive; the offset of the next
 * span usually differs.
 */
export interface ZoneSpan {
  start: number;
  end: number;
  /** Milliseconds east of UTC. */
  offset: number;
  /**
   * The offset just before `start`: smaller if the clocks went forward (a gap), larger if they went
   * back.
   */
  offsetBefore: number;
}

export interface Zone {
  spanAt(instant: number): ZoneSpan;
}

const utc: Zone = (() => {
  const always = {
    start: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
    offset: 0,
    offsetBefore: 0,
  };
  return { spanAt: () => always };
})();

/** There are about 420 zones; the bound limits the memory in any case. */
const ZONES_MAX = 512;
const zones = new BoundedMap<string, Zone>(ZONES_MAX);

type ZoneLookup = (timezone: string) => Zone | null;

let otherZones: ZoneLookup | null = null;

/** Takes a canonical name from `canonicalTimezone`. */
export function zoneNamed(timezone: string): Zone {
  if (timezone === "UTC") return utc;
  const other = otherZones?.(timezone) ?? null;
  if (other !== null) return other;
  const known = zones.get(timezone);
  if (known !== undefined) return known;
  const made = makeZone(offsetByIntl(timezone));
  zones.set(timezone, made);
  return made;
}

/**
 * Makes every cadence follow other zone rules while `work` runs, such as those of an earlier
 * release of the zone data. `lookup` returns null for a zone that stays as it is. `work` must be
 * synchronous: other code that ran meanwhile would use these rules too.
 */
export function withZones<Result>(lookup: ZoneLookup, work: () => Result): Result {
  const before = otherZones;
  otherZones = lookup;
  try {
    return work();
  } finally {
    otherZones = before;
  }
}

/** True while `withZones` makes cadences follow other rules than the zones' own. */
export function followsOtherZones(): boolean {
  return otherZones !== null;
}

/** The offset that a zone has from this instant on. */
export interface OffsetChange {
  from: number;
  /** Milliseconds east of UTC. */
  offset: number;
}

/** The offset of a zone at `from`, and each change of it until `to`. */
export function offsetChanges(timezone: string, from: number, to: number): OffsetChange[] {
  const zone = zoneNamed(timezone);
  let { offset, end } = zone.spanAt(from);
  const changes: OffsetChange[] = [{ from, offset }];
  while (end < to) {
    const span = zone.spanAt(end);
    if (span.offset !== offset) changes.push({ from: end, offset: span.offset });
    ({ offset, end } = span);
  }
  return changes;
}

/**
 * A zone with these offsets, which are in rising order. Before the first change it already has the
 * offset of that change.
 */
export function zoneOf(changes: readonly OffsetChange[]): Zone {
  const spans = changes.map(({ from, offset }, index): ZoneSpan => {
    const earlier = changes[index - 1];
    const start = earlier === undefined ? Number.NEGATIVE_INFINITY : from;
    const end = changes[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    return { start, end, offset, offsetBefore: earlier?.offset ?? offset };
  });
  const last = spans.at(-1);
  if (last === undefined) throw new Error("A zone has at least one offset.");
  return { spanAt: (instant) => (instant >= last.start ? last : spanHolding(spans, instant)) };
}

function spanHolding(spans: readonly ZoneSpan[], instant: number): ZoneSpan {
  for (const span of spans) if (instant < span.end) return span;
  throw new Error(`No span of its zone holds the instant ${instant}.`);
}

const WEEK_MS = 604_800_000;

/** Spans are computed once for each 52 weeks of a zone. */
const BLOCK_MS = 52 * WEEK_MS;
const BLOCKS_MAX = 256;

/**
 * A zone from a function for its offset. A call of Intl costs about a microsecond, so it is used
 * only to find the changes; between them the offset is constant.
 */
export function makeZone(offsetAt: (instant: number) => number): Zone {
  const blocks = new BoundedMap<number, readonly ZoneSpan[]>(BLOCKS_MAX);
  return {
    spanAt(instant) {
      const number = Math.floor(instant / BLOCK_MS);
      let spans = blocks.get(number);
      if (spans === undefined) {
        spans = spansOfBlock(number * BLOCK_MS, offsetAt);
        blocks.set(number, spans);
      }
      return spanHolding(spans, instant);
    },
  };
}

/**
 * The spans that lie in a block, whole or in part. The offset is read once a week, and each change
 * between two readings is found by halving. A change that is undone within a week would be missed;
 * the shortest span of any zone since 2005 has 21 days. A week more is read on both sides, so that
 * a span at an end of the block has the change just outside of it: the hour that the change repeats
 * may lie inside.
 */
function spansOfBlock(blockStart: number, offsetAt: (instant: number) => number): ZoneSpan[] {
  const scanEnd = blockStart + BLOCK_MS + WEEK_MS;
  const spans: ZoneSpan[] = [];
  let start = blockStart - WEEK_MS;
  let offsetBefore = offsetAt(start - 1_000);
  let offset = offsetAt(start);
  for (let from = start; from < scanEnd; from += WEEK_MS) {
    const to = from + WEEK_MS;
    const offsetThen = offsetAt(to);
    while (offset !== offsetThen) {
      const change = firstSecondWithout(offset, Math.max(from, start), to, offsetAt);
      spans.push({ start, end: change, offset, offsetBefore });
      offsetBefore = offset;
      offset = offsetAt(change);
      start = change;
    }
  }
  spans.push({ start, end: scanEnd, offset, offsetBefore });
  return spans.filter((span) => span.end > blockStart && span.start < blockStart + BLOCK_MS);
}

/**
 * The first second after the change of the offset in `(from, to)`. Clocks change on whole seconds.
 */
function firstSecondWithout(
  offset: number,
  from: number,
  to: number,
  offsetAt: (instant: number) => number,
): number {
  let same = from / 1_000;
  let other = to / 1_000;
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (offsetAt(middle * 1_000) === offset) same = middle;
    else other = middle;
  }
  return other * 1_000;
}

/**
 * The formatter writes `…, GMT-04:56:02`; zero is `GMT` or `GMT+00:00`, depending on the version.
 */
function offsetByIntl(timezone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" });
  return (instant) => {
    const text = format.format(instant);
    const at = text.indexOf("GMT") + 3;
    if (at === text.length) return 0;
    const part = (from: number) => Number(text.slice(at + from, at + from + 2));
    const seconds = part(1) * 3_600 + part(4) * 60 + part(7);
    return (text.charAt(at) === "-" ? -seconds : seconds) * 1_000;
  };
}
