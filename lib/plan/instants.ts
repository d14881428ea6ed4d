import { isRun, leavesOut, nextAfter, previousBefore, previousRunBefore } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { countWithin } from "../cadence/count-within.ts";
import { dueAt, occurrenceDueBy, type Timetable } from "../schedule/stored/timetable.ts";
import { counted } from "./unfolding-time.ts";

/**
 * Up to this many passed-over occurrences are noted one by one in the ledger; more are noted as one
 * range with a count.
 */
export const passedSinglyMax = 10;

/**
 * The most missed occurrences of a schedule that become jobs at once if `catchUp` is `all`. The
 * others go to the backlog.
 */
export const caughtUpAtOnceMax = 10;

export type PassedReason = "missed" | "paused" | "calendar";

export interface Run {
  at: number;
  due: number;
}

export interface Passed {
  at: number;
  due: number;
  reason: PassedReason;
}

export interface PassedRange {
  from: number;
  to: number;
  count: number;
  more: boolean;
  reason: PassedReason;
}

/**
 * The result for the occurrences of a cadence, from the planned one up to a bound: which run, which
 * do not, and which is next.
 */
export interface Unfolded {
  runs: Run[];
  passed: Passed[];
  ranges: PassedRange[];
  /** Occurrences that run too, oldest first, but are too many to become jobs at once. */
  backlog: Run[];
  next: Run | null;
}

/** Bounds for unfolding a timetable. They are inclusive, and all but `dueFrom` are occurrences. */
export interface Moment {
  upTo: number;
  /**
   * Occurrences up to here are missed: planned too long after they were due, or due while the
   * schedule was held.
   */
  missedUpTo: number;
  /** Missed occurrences before this are passed over under every policy. */
  notBefore?: number | undefined;
  /** Missed occurrences up to here were due under a hold. */
  heldUpTo?: number | undefined;
  /** Earliest due time: an edit can move the due time of a run into the past. */
  dueFrom?: number | undefined;
}

/** The moment of a plan row that is unfolded at `now` up to a due time of `bound`. */
export function momentOf(
  timetable: Timetable,
  { now, bound, missedAfterMs }: { now: number; bound: number; missedAfterMs: number },
): Moment {
  const { withinMs } = timetable.catchUp;
  return {
    upTo: occurrenceDueBy(timetable, bound),
    missedUpTo: occurrenceDueBy(timetable, now - missedAfterMs - 1),
    ...(withinMs === null ? {} : { notBefore: occurrenceDueBy(timetable, now - withinMs - 1) + 1 }),
  };
}

/**
 * Unfolds a timetable from a planned occurrence. Occurrences that are not missed become jobs up to
 * the bound; the policy chooses among the missed ones, and the rest is passed over; the first
 * occurrence beyond the bound is planned. The statement in fire.ts does the same in SQL for exact
 * intervals of schedules that are not governed.
 */
export function unfold(timetable: Timetable, planned: number, moment: Moment): Unfolded {
  return counted(() => unfoldNow(timetable, planned, moment));
}

function unfoldNow(timetable: Timetable, planned: number, moment: Moment): Unfolded {
  const { cadence } = timetable;
  // After the last run that the limit allows there is no occurrence, so none can be missed.
  if (timetable.firesLeft === 0) return { runs: [], passed: [], ranges: [], backlog: [], next: null };
  const firesLeft = timetable.firesLeft ?? Number.POSITIVE_INFINITY;
  const missedUpTo = Math.min(moment.missedUpTo, moment.upTo);
  const isLate = planned <= missedUpTo;
  const caughtUp = isLate ? chosenOfMissed(timetable, planned, { ...moment, missedUpTo }) : [];
  const passed = isLate
    ? passedOver(cadence, planned, caughtUp, { ...moment, missedUpTo })
    : new PassedOver();
  const young: number[] = [];
  let at: number | null = isLate ? nextAfter(cadence, missedUpTo) : planned;
  let leftOutFrom: number | null = null;
  for (
    ;
    at !== null && at <= moment.upTo && caughtUp.length + young.length < firesLeft;
    at = nextAfter(cadence, at)
  ) {
    if (!isRun(cadence, at)) {
      leftOutFrom ??= at;
      continue;
    }
    if (leftOutFrom !== null) passed.add(cadence, leftOutFrom, at - 1, "calendar");
    leftOutFrom = null;
    young.push(at);
  }
  if (leftOutFrom !== null) passed.add(cadence, leftOutFrom, moment.upTo, "calendar");
  const ended = at === null || caughtUp.length + young.length >= firesLeft;
  const run = (each: number): Run => ({
    at: each,
    due: Math.max(dueAt(timetable, each), moment.dueFrom ?? each),
  });
  return {
    runs: [...caughtUp.slice(0, caughtUpAtOnceMax), ...young].map(run),
    passed: passed.singles.map((each) => ({ ...each, due: dueAt(timetable, each.at) })),
    ranges: passed.ranges,
    backlog: caughtUp.slice(caughtUpAtOnceMax).map(run),
    next: at === null || ended ? null : { at, due: dueAt(timetable, at) },
  };
}

/** The missed occurrences that the policy runs, oldest first. */
function chosenOfMissed(
  { cadence, catchUp, firesLeft }: Timetable,
  planned: number,
  { missedUpTo, notBefore = planned }: Moment,
): number[] {
  const most = { latest: 1, all: catchUp.limit, skip: 0 }[catchUp.policy];
  const oldest = Math.max(planned, notBefore);
  const chosen: number[] = [];
  let at = most > 0 ? previousRunBefore(cadence, missedUpTo + 1) : null;
  for (; at !== null && at >= oldest && chosen.length < most; at = previousRunBefore(cadence, at))
    chosen.push(at);
  return chosen.reverse().slice(0, firesLeft ?? chosen.length);
}

/** Occurrences that do not run: a few are noted singly, many as one range. */
class PassedOver {
  readonly singles: { at: number; reason: PassedReason }[] = [];
  readonly ranges: PassedRange[] = [];

  /**
   * Notes the occurrences from one instant to another, both inclusive. Occurrences that a calendar
   * leaves out get that reason if they are noted singly.
   */
  add(cadence: Cadence, from: number, to: number, reason: PassedReason): void {
    const { count, more } = countWithin(cadence, from - 1, to);
    const first = nextAfter(cadence, from - 1);
    const last = previousBefore(cadence, to + 1);
    if (count === 0 || first === null || last === null) return;
    if (more || this.singles.length + count > passedSinglyMax) {
      this.ranges.push({ from: first, to: last, count, more, reason });
      return;
    }
    for (let at: number | null = first; at !== null && at <= last; at = nextAfter(cadence, at)) {
      this.singles.push({ at, reason: isRun(cadence, at) ? reason : "calendar" });
    }
  }
}

function passedOver(
  cadence: Cadence,
  planned: number,
  chosen: readonly number[],
  { missedUpTo, heldUpTo }: Moment,
): PassedOver {
  const passed = new PassedOver();
  const [first] = chosen;
  const before = first === undefined ? missedUpTo : first - 1;
  const heldEnd = Math.min(heldUpTo ?? planned - 1, before);
  passed.add(cadence, planned, heldEnd, "paused");
  passed.add(cadence, Math.max(planned, heldEnd + 1), before, "missed");
  if (!leavesOut(cadence)) return passed;
  for (const [index, at] of chosen.entries())
    passed.add(cadence, at + 1, (chosen[index + 1] ?? missedUpTo + 1) - 1, "calendar");
  return passed;
}
