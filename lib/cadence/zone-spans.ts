/** A stretch of time in which a zone keeps one offset. `end` is exclusive; where two meet, the offset has mostly changed. */
export interface ZoneSpan {
  start: number;
  end: number;
  /** Milliseconds east of UTC. */
  offset: number;
  /** The offset just before `start`: smaller means that the clocks went forward (a gap), larger that they went back. */
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

/** There are about 420 zones; the bound is there so that nothing grows without one. */
const ZONES_MAX = 512;
const zones = new Map<string, Zone>();

/** By canonical name, as `canonicalTimezone` gives it. */
export function zoneNamed(timezone: string): Zone {
  if (timezone === "UTC") return utc;
  const known = zones.get(timezone);
  if (known !== undefined) return known;
  const made = makeZone(offsetByIntl(timezone));
  if (zones.size >= ZONES_MAX) zones.clear();
  zones.set(timezone, made);
  return made;
}

const WEEK_MS = 604_800_000;

/** Spans are looked up once for each 52 weeks of a zone, and do not reach over their ends. */
const BLOCK_MS = 52 * WEEK_MS;
const BLOCKS_MAX = 256;

/** Asking Intl costs about a microsecond, so it is asked only to find the changes; between them an offset is a constant. */
export function makeZone(offsetAt: (instant: number) => number): Zone {
  const blocks = new Map<number, readonly ZoneSpan[]>();
  return {
    spanAt(instant) {
      const number = Math.floor(instant / BLOCK_MS);
      let spans = blocks.get(number);
      if (spans === undefined) {
        spans = spansOfBlock(number * BLOCK_MS, offsetAt);
        if (blocks.size >= BLOCKS_MAX) blocks.clear();
        blocks.set(number, spans);
      }
      const span = spans.find(({ end }) => instant < end);
      if (span === undefined) throw new Error(`No span of its zone holds the instant ${instant}.`);
      return span;
    },
  };
}

/**
 * Looks at the offset once a week and halves the way to each change. A change that is undone within a week would be missed;
 * the shortest span of any zone since 2005 has 21 days.
 */
function spansOfBlock(blockStart: number, offsetAt: (instant: number) => number): ZoneSpan[] {
  const spans: ZoneSpan[] = [];
  let offsetBefore = offsetAt(blockStart - 1_000);
  let offset = offsetAt(blockStart);
  let start = blockStart;
  for (let from = blockStart; from < blockStart + BLOCK_MS; from += WEEK_MS) {
    const to = from + WEEK_MS;
    const offsetThen = to < blockStart + BLOCK_MS ? offsetAt(to) : offsetAt(to - 1_000);
    while (offset !== offsetThen) {
      const change = firstSecondWithout(offset, Math.max(from, start), to, offsetAt);
      spans.push({ start, end: change, offset, offsetBefore });
      offsetBefore = offset;
      offset = offsetAt(change);
      start = change;
    }
  }
  spans.push({ start, end: blockStart + BLOCK_MS, offset, offsetBefore });
  return spans;
}

/** Somewhere in `(from, to)` the offset changes; clocks change on whole seconds. */
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

/** The formatter writes `…, GMT-04:56:02`; zero is `GMT` or `GMT+00:00`, by version. */
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
