import type { Calendared } from "../cadence/cadence-kinds.ts";
import { countRuns } from "../cadence/count-runs.ts";
import type { Rule } from "./slices.ts";
import type { Window } from "./window.ts";

/** How often a shared cadence occurs in a window. */
export interface RuleRuns {
  occurrences: number;
  /** Those of them that its calendar leaves out. */
  leftOut: number;
  /** Counting stopped: there are more. */
  more: boolean;
}

/** More runs of one schedule than this are not counted, nor more occurrences that a calendar leaves out. */
const runsMax = 10_000;

/** How many occurrences of lists and moving calendars are counted one by one; those of crons are computed. */
const walkedMax = 100_000;

/** Null for a rule whose schedules occur at different instants. */
export function runsIn({ from, to }: Window): (rule: Rule) => RuleRuns | null {
  let left = walkedMax;
  return ({ cadence }) => {
    if (cadence === null) return null;
    const isComputed = cadence.kind === "cron" || (cadence.kind === "calendared" && isSkippedCron(cadence));
    const { runs, leftOut } = countRuns(
      cadence,
      from - 1,
      to - 1,
      isComputed ? runsMax : Math.min(left, runsMax),
    );
    const occurrences = runs.count + leftOut.count;
    if (!isComputed) left = Math.max(0, left - occurrences);
    return { occurrences, leftOut: leftOut.count, more: runs.more || leftOut.more };
  };
}

const isSkippedCron = ({ on, of }: Calendared) => on === "skip" && of.kind === "cron";
