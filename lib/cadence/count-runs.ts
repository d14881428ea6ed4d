import type { Cadence, Calendared } from "./cadence-kinds.ts";
import { isExcluded } from "./calendar-rules.ts";
import { type Counted, countWithin } from "./count-within.ts";
import { MS_PER_DAY } from "./zone/civil.ts";
import { dayAt, stretchesShowing } from "./zone/wall-stretches.ts";
import { zoneNamed } from "./zone/zone-spans.ts";

export interface CountedRuns {
  runs: Counted;
  /** Occurrences on days that a calendar skips. */
  leftOut: Counted;
}

const none: Counted = { count: 0, more: false };

/** Counts the occurrences in `(after, upTo]`, up to `max` of those that run and of those that a calendar skips. */
export function countRuns(cadence: Cadence, after: number, upTo: number, max: number): CountedRuns {
  if (cadence.kind !== "calendared" || cadence.on !== "skip")
    return { runs: countWithin(cadence, after, upTo, max), leftOut: none };
  const counted: CountedRuns = { runs: none, leftOut: none };
  for (const { isLeftOut, from, end } of stretchesOf(cadence, after + 1, upTo + 1)) {
    const kind = isLeftOut ? "leftOut" : "runs";
    const before = counted[kind].count;
    const { count, more } = countWithin(cadence.of, from - 1, end - 1, max - before);
    counted[kind] = { count: before + count, more: counted[kind].more || more };
  }
  return counted;
}

/** A stretch of time whose days the calendar all excludes, or all allows. */
interface DayStretch {
  isLeftOut: boolean;
  from: number;
  end: number;
}

/** Days in a row are one stretch between two clock changes. */
function stretchesOf({ timezone, rules }: Calendared, from: number, end: number): DayStretch[] {
  const zone = zoneNamed(timezone);
  const stretches: DayStretch[] = [];
  // Where the clocks go back over midnight, the day before comes again.
  const last = dayAt(zone, end) + 1;
  for (let day = dayAt(zone, from) - 1; day <= last; ) {
    const first = day;
    const isLeftOut = isExcluded(rules, first);
    while (day <= last && isExcluded(rules, day) === isLeftOut) day += 1;
    const walls = { from: first * MS_PER_DAY, end: day * MS_PER_DAY };
    for (const shown of stretchesShowing(zone, walls)) {
      const part = { isLeftOut, from: Math.max(from, shown.start), end: Math.min(end, shown.end) };
      if (part.from < part.end) stretches.push(part);
    }
  }
  return stretches;
}
