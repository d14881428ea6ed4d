import type { ClockRule } from "./clock-rule.ts";
import type { WallSearch } from "./wall-search.ts";
import { dateText, listText, timeText } from "./wall-text.ts";
import type { Zone, ZoneSpan } from "./zone-spans.ts";
import { GAP_MAX_MS, OFFSET_MAX_MS, wallTimeIn } from "./zoned-search.ts";

/** A cadence as wall times in a zone, with the rule for clock changes. */
export interface ZonedTimes {
  search: WallSearch;
  rule: ClockRule;
  zone: Zone;
}

/** A longer list of times in one gap is written as the first and the last. */
const LISTED_MAX = 4;

/** Why an occurrence is at this instant, if a gap moved or merged it; otherwise empty. */
export function gapNotes({ search, rule, zone }: ZonedTimes, at: number): string[] {
  const span = zone.spanAt(at);
  if (rule.gap === "skip" || span.start !== at || span.offset - span.offsetBefore > GAP_MAX_MS) return [];
  const missing = wallsIn(search, gapOf(span));
  if (missing.length === 0) return [];
  const wall = at + span.offset;
  if (search.atOrAfter(wall) === wall)
    return [gapNote(span, missing, wall, ` and ${verb(missing, "run")} together with ${timeText(wall)}`)];
  return [gapNote(span, missing, wall, missing.length > 1 ? " and run once" : "")];
}

/**
 * A note on an occurrence whose wall time comes from another day and does not exist on this one.
 */
export function movedIntoGapNotes(zone: Zone, at: number, wall: number): string[] {
  const span = zone.spanAt(at);
  return wall === at + span.offset ? [] : [gapNote(span, [wall], at + span.offset, "")];
}

/** The most gaps in one note. Times left out in earlier gaps were noted on earlier occurrences. */
const GAPS_MAX = 3;

/**
 * The most spans of a zone to search; only occurrences that are centuries apart have more between
 * them.
 */
const SPANS_MAX = 2_000;

/**
 * Notes on the wall times in `(since, at]` that do not exist, except those for which `countsOn` is
 * false.
 */
export function leftOutNotes(
  { search, rule, zone }: ZonedTimes,
  { since, at, countsOn }: { since: number; at: number; countsOn: (wall: number) => boolean },
): string[] {
  const notes: string[] = [];
  let span = zone.spanAt(at);
  const wall = at + span.offset;
  for (let step = 0; step < SPANS_MAX && span.start > since && notes.length < GAPS_MAX; step += 1) {
    const gap = span.offset - span.offsetBefore;
    if (gap > 0 && (rule.gap === "skip" || gap > GAP_MAX_MS)) {
      const missing = wallsIn(search, gapOf(span)).filter(countsOn);
      const tail = ` and ${missing.length > 1 ? "are" : "is"} left out`;
      if (missing.length > 0) notes.unshift(gapNote(span, missing, wall, tail));
    }
    span = zone.spanAt(span.start - 1);
  }
  return notes;
}

/**
 * A note that says whether this is the first or the second pass, if the clocks show this time
 * twice.
 */
export function passNotes(zone: Zone, overlap: ClockRule["overlap"], at: number): string[] {
  const { start, end, offset } = zone.spanAt(at);
  if (at - start > OFFSET_MAX_MS && end - at > OFFSET_MAX_MS) return [];
  const time = wallTimeIn(zone, at + offset);
  if (time.kind === "gap" || time.at.length < 2) return [];
  const pass = time.at.indexOf(at) === 0 ? "first" : "second";
  return [
    `${timeText(at + offset)} comes twice on this day; ${overlap === "both" ? "this is" : "runs on"} the ${pass}`,
  ];
}

interface Gap {
  from: number;
  end: number;
}

function gapOf({ start, offset, offsetBefore }: ZoneSpan): Gap {
  return { from: start + offsetBefore, end: start + offset };
}

/**
 * The wall times of a gap. If they are too many to list: the first few and the last, which is enough
 * for the text `a to b`.
 */
function wallsIn(search: WallSearch, { from, end }: Gap): number[] {
  const walls: number[] = [];
  let wall = search.atOrAfter(from);
  while (wall !== null && wall < end && walls.length < LISTED_MAX) {
    walls.push(wall);
    wall = search.atOrAfter(wall + 1);
  }
  const last = wall !== null && wall < end ? search.atOrBefore(end - 1) : null;
  return last === null ? walls : [...walls, last];
}

/**
 * The text of a note. `at` is the wall time of the occurrence that has it; the day of `at` is
 * written as "this day".
 */
function gapNote(span: ZoneSpan, missing: readonly number[], at: number, tail: string): string {
  const { from, end } = gapOf(span);
  const [first = from] = missing;
  const day = dateText(first) === dateText(at) ? "this day" : dateText(first);
  const times =
    missing.length > LISTED_MAX
      ? `${timeText(first)} to ${timeText(missing.at(-1) ?? first)}`
      : listText(missing.map(timeText));
  const named = end - from > GAP_MAX_MS ? (wall: number) => `${dateText(wall)} ${timeText(wall)}` : timeText;
  return `${times} ${verb(missing, "do")} not exist on ${day}${tail}: the clocks go from ${named(from)} to ${named(end)}`;
}

function verb(of: readonly number[], name: "do" | "run"): string {
  if (of.length > 1) return name;
  return name === "do" ? "does" : "runs";
}
