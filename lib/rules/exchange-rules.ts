import { nextAfter, previousBefore } from "../cadence/cadence.ts";
import type { Cadence, Calendared } from "../cadence/cadence-kinds.ts";
import type { CalendarRules } from "../cadence/calendar-rules.ts";
import { lastNominalOf, moveDaysMax, movedTo } from "../cadence/calendared.ts";
import { dayMs } from "../schedule/shape/timing-shape.ts";

export interface ExchangedRules {
  cadence: Cadence;
  /**
   * The newest runs that the new rules move before the cut, where they can no longer run; oldest
   * first.
   */
  lost: number[];
}

interface Moment {
  cut: number;
  /** Creation of the schedule: no run is due before. */
  since: number;
  /** When the old rules came into force. */
  inForce: number;
  /** `startsAt` of the body; the cadence may begin later because of an earlier exchange. */
  startsAt: number | null;
}

/**
 * Resolves a cadence by changed rules of its calendar. The calendar may be edited between an
 * excluded day and the run that was moved from it. A run that the old rules have already fired must
 * not fire again on the day to which the new rules move it. So the cadence begins after that day,
 * unless runs before it have not fired yet. The rules of edits further back are unknown, so only
 * the last edit is considered. Runs that the new rules move from the future to before the cut are
 * lost, and returned.
 */
export function exchangeRules(
  current: Cadence,
  rules: CalendarRules,
  { cut, since, inForce, startsAt }: Moment,
): ExchangedRules {
  const window = current.kind === "window" ? current : { of: current, startsAt: null, endsAt: null };
  const before = window.of;
  if (before.kind !== "calendared") throw new Error(`A cadence of kind ${before.kind} has no calendar.`);
  const after: Calendared = { ...before, rules };
  const { endsAt } = window;
  const within = (from: number | null): Cadence =>
    from === null && endsAt === null ? after : { kind: "window", of: after, startsAt: from, endsAt };
  if (before.on === "skip" || (startsAt !== null && startsAt > cut))
    return { cadence: within(startsAt), lost: [] };

  // Runs left out by an earlier exchange count as done too.
  const begun = window.startsAt === null || window.startsAt === startsAt ? cut : window.startsAt - 1;
  const doneUpTo = Math.max(cut, begun);
  const ranAt = (run: number): number | null => {
    // Runs are moved by whole days. If several are moved onto one, the last of them was also the
    // last by the old rules.
    const nominal = lastNominalOf(after, run, { nextAfter, previousBefore });
    return nominal === null ? null : movedTo(before, nominal);
  };
  // A run that the old rules put before the moment at which they came into force has never fired by
  // them.
  const hasRun = (at: number | null) => at !== null && at > inForce && at <= doneUpTo;
  const done = lastDone(after, cut, (run) => hasRun(ranAt(run)));
  const planned = runsBehind(within(startsAt), { cut, since }).filter(
    (run) => (ranAt(run) ?? Number.NEGATIVE_INFINITY) > doneUpTo,
  );
  return {
    cadence: within(done === null ? startsAt : done + 1),
    // A run that fired at this instant covers all runs that are moved to it.
    lost: planned.filter((run) => nextAfter(before, run - 1) !== run),
  };
}

/** Bound of runs checked in each direction, so that an edit ends in time. */
const lookedMax = 500;

/** The last of the runs directly after the cut that have fired already. */
function lastDone(after: Calendared, cut: number, isDone: (run: number) => boolean): number | null {
  let last: number | null = null;
  let at = nextAfter(after, cut);
  for (let looked = 0; at !== null && looked < lookedMax && isDone(at); looked += 1) {
    last = at;
    at = nextAfter(after, at);
  }
  return last;
}

/** No rule moves a run further than this. */
const reachMs = (moveDaysMax + 2) * dayMs;

function runsBehind(after: Cadence, { cut, since }: Pick<Moment, "cut" | "since">): number[] {
  const runs: number[] = [];
  const from = Math.max(since, cut - reachMs);
  let at = previousBefore(after, cut + 1);
  for (; at !== null && at >= from && runs.length < lookedMax; at = previousBefore(after, at)) runs.push(at);
  return runs.reverse();
}
