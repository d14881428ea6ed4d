import { type Cadence, countWithin, nextAfter, previousBefore } from "../cadence/cadence.ts";

/** Up to this many occurrences passed over stand in the ledger one by one; more of them as one range with its count. */
export const passedSinglyMax = 10;

export interface PassedRange {
  from: number;
  to: number;
  count: number;
  more: boolean;
}

/** What becomes of a cadence's occurrences from its planned one up to a bound. */
export interface Unfolded {
  runs: number[];
  passed: number[];
  range: PassedRange | null;
  next: number | null;
}

/**
 * Unfolds a cadence from a planned occurrence: all up to `bound` become jobs, the first beyond is planned. Of those that
 * are missed (before `missedBefore`) only the newest runs, the others are passed over. The statement in fire.ts does
 * the same for exact intervals in SQL.
 */
export function unfold(cadence: Cadence, planned: number, bound: number, missedBefore: number): Unfolded {
  const newestMissed =
    planned < missedBefore ? previousBefore(cadence, Math.min(missedBefore, bound + 1)) : null;
  const first = newestMissed === null || newestMissed < planned ? planned : newestMissed;
  const runs: number[] = [];
  let at: number | null = first;
  while (at !== null && at <= bound) {
    runs.push(at);
    at = nextAfter(cadence, at);
  }
  return { runs, ...passedOver(cadence, planned, first), next: at };
}

function passedOver(cadence: Cadence, planned: number, first: number): Pick<Unfolded, "passed" | "range"> {
  if (first <= planned) return { passed: [], range: null };
  const beforePlanned = planned - 1;
  const last = previousBefore(cadence, first) ?? planned;
  const { count, more } = countWithin(cadence, beforePlanned, last);
  if (count > passedSinglyMax || more) return { passed: [], range: { from: planned, to: last, count, more } };
  const passed: number[] = [];
  for (let at: number | null = planned; at !== null && at < first; at = nextAfter(cadence, at))
    passed.push(at);
  return { passed, range: null };
}
