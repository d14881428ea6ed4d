import { nextAfter, previousBefore } from "../cadence/cadence.ts";
import type { Cadence, Calendared } from "../cadence/cadence-kinds.ts";
import type { CalendarRules } from "../cadence/calendar-rules.ts";
import { lastNominalOf, moveDaysMax, movedTo } from "../cadence/calendared.ts";
import { dayMs } from "../schedule/shape/timing-shape.ts";

export interface ExchangedRules {
  cadence: Cadence;
  /** Runs that the new rules put behind the cut, where they can no longer run: the newest of them, oldest first. */
  lost: number[];
}

interface Moment {
  cut: number;
  /** When the schedule was made: it owes nothing before. */
  since: number;
  /** Since when the rules that end have stood. */
  inForce: number;
  /** What its body says; the cadence may begin later by an exchange before this one. */
  startsAt: number | null;
}

/**
 * A cadence by the other rules of its calendar. A calendar that moves runs may be edited between a day and the run that was
 * moved from it or to it. What has run by the old rules does not run again on the day to which the new ones move it: the
 * cadence begins behind it, as far as nothing that has not run comes before. (Told by the rules of the last edit: those of two edits
 * before are not known.) What the new ones move from the future to before the cut is lost, and is told.
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

  // What an exchange before this one has left out is done too.
  const begun = window.startsAt === null || window.startsAt === startsAt ? cut : window.startsAt - 1;
  const doneUpTo = Math.max(cut, begun);
  const ranAt = (run: number): number | null => {
    // Runs are moved by whole days: of those that meet in one run, the last was the last by the old rules too.
    const nominal = lastNominalOf(after, run, { nextAfter, previousBefore });
    return nominal === null ? null : movedTo(before, nominal);
  };
  // What the rules that end had moved to before they stood has never run by them.
  const hasRun = (at: number | null) => at !== null && at > inForce && at <= doneUpTo;
  const done = lastDone(after, cut, (run) => hasRun(ranAt(run)));
  const planned = runsBehind(within(startsAt), { cut, since }).filter(
    (run) => (ranAt(run) ?? Number.NEGATIVE_INFINITY) > doneUpTo,
  );
  return {
    cadence: within(done === null ? startsAt : done + 1),
    // What ran at this very instant ran for all that are moved to it.
    lost: planned.filter((run) => nextAfter(before, run - 1) !== run),
  };
}

/** So many runs are looked at in each direction: an edit ends in time whatever it moves. */
const lookedMax = 500;

/** The last of the runs next after the cut that have run already. */
function lastDone(after: Calendared, cut: number, isDone: (run: number) => boolean): number | null {
  let last: number | null = null;
  let at = nextAfter(after, cut);
  for (let looked = 0; at !== null && looked < lookedMax && isDone(at); looked += 1) {
    last = at;
    at = nextAfter(after, at);
  }
  return last;
}

/** Further back nothing can have been moved from behind the cut. */
const reachMs = (moveDaysMax + 2) * dayMs;

function runsBehind(after: Cadence, { cut, since }: Pick<Moment, "cut" | "since">): number[] {
  const runs: number[] = [];
  const from = Math.max(since, cut - reachMs);
  let at = previousBefore(after, cut + 1);
  for (; at !== null && at >= from && runs.length < lookedMax; at = previousBefore(after, at)) runs.push(at);
  return runs.reverse();
}
