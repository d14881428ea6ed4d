import type { Outage, Problem, Problems, Stats } from "../../../client/stats.ts";
import { numberText, spanText } from "../amounts.ts";

/** As the guarantee says: a job starts within a second after its due time. */
export const lateMs = 1_000;
/** The resolution of the figures. */
const stepMs = 100;
const minuteMs = 60_000;
/** Among fewer runs, the lateness within which 99 of 100 started is that of the latest one. */
const hundred = 100;

/** `last 5 minutes`: the time whose lateness is shown. */
function minutesText({ asOf, lastMinutes }: Stats): string {
  const ms = lastMinutes === null ? 0 : Date.parse(asOf) - Date.parse(lastMinutes.from);
  const minutes = Math.floor(ms / minuteMs);
  return minutes <= 1 ? "last minute" : `last ${minutes} minutes`;
}

/** The words beneath the figure of lateness. While it is awaited they are those of a busy time. */
export function latenessWords(stats: Stats | undefined): string {
  if (stats === undefined) return "99 of 100 runs started within this, last 5 minutes";
  const jobs = stats.lastMinutes?.lateness.jobs ?? 0;
  const time = minutesText(stats);
  if (jobs === 0) return `lateness: no run has started in the ${time}`;
  return jobs < hundred
    ? `the longest delay of a run, ${time}`
    : `99 of 100 runs started within this, ${time}`;
}

/** Whether an outage that is over explains that some of the last runs started late. */
export function isAfterOutage({ lastMinutes }: Stats, outages: readonly Outage[]): boolean {
  const p99Ms = lastMinutes?.lateness.p99Ms ?? null;
  if (lastMinutes === null || p99Ms === null || p99Ms <= lateMs) return false;
  // A run that started then, and as late as this, was due no earlier.
  const due = Date.parse(lastMinutes.from) - p99Ms;
  return outages.some(({ to }) => to !== null && Date.parse(to) >= due);
}

/** A target whose limits are used up leaves the verdict as it is, and its jobs are late. */
const lateKinds: ReadonlySet<Problem["kind"]> = new Set([
  "no-tick",
  "plan-behind",
  "no-worker",
  "late-jobs",
  "backlog-full",
  "target-full",
]);

/** Whether a job that may start has not, by the problems, or by a wait that is too short for a problem. */
export function isLateNow({ problems }: Pick<Problems, "problems">, { oldestDue }: Stats): boolean {
  return problems.some(({ kind }) => lateKinds.has(kind)) || (oldestDue?.lateMs ?? 0) > lateMs;
}

/** How late the last runs started, where the verdict is that they are on time. */
export function punctualText(stats: Stats, outages: readonly Outage[], isLate: boolean): string {
  const { lastMinutes } = stats;
  if (lastMinutes === null) return "";
  const { jobs, p99Ms } = lastMinutes.lateness;
  const time = minutesText(stats);
  if (jobs === 0 || p99Ms === null) return `No run has started in the ${time}.`;
  const isFew = jobs < hundred;
  if (p99Ms > lateMs) {
    const late = spanText(p99Ms);
    const why = isAfterOutage(stats, outages) ? ", after an outage that is over" : "";
    const now = isLate ? "" : "; none is late now";
    return isFew
      ? `In the ${time} the most delayed run started ${late} late${why}${now}.`
      : `In the ${time} 99 of 100 runs started within ${late} of their time${why}${now}.`;
  }
  const runs = !isFew ? "99 of 100 runs" : jobs === 1 ? "the only run" : `all ${numberText(jobs)} runs`;
  return `In the ${time} ${runs} started within ${spanText(Math.max(stepMs, p99Ms))}.`;
}
