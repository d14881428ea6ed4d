import type { Strip, StripItem } from "../../client/agenda.ts";

/** An occurrence that ran, or tried to. */
export interface RunTime extends Pick<StripItem, "occurrence" | "outcome" | "latenessMs" | "durationMs"> {
  at: number;
}

export type Measure = "latenessMs" | "durationMs";

/** The runs of a strip with a lateness or a duration, oldest first. */
export function runTimesOf({ items }: Strip): RunTime[] {
  return items
    .filter(({ latenessMs, durationMs }) => latenessMs !== null || durationMs !== null)
    .map(({ occurrence, outcome, latenessMs, durationMs }) => ({
      occurrence,
      outcome,
      latenessMs,
      durationMs,
      at: Date.parse(occurrence),
    }))
    .toSorted((one, other) => one.at - other.at);
}

export interface Summary {
  medianMs: number;
  worstMs: number;
  worstAt: number;
}

/** Null if no run has the measure yet. */
export function summaryOf(runs: readonly RunTime[], measure: Measure): Summary | null {
  const known = runs
    .flatMap(({ at, [measure]: ms }) => (ms === null ? [] : [{ at, ms }]))
    .toSorted((one, other) => one.ms - other.ms);
  const [middle, worst] = [known[Math.floor((known.length - 1) / 2)], known.at(-1)];
  if (middle === undefined || worst === undefined) return null;
  return { medianMs: middle.ms, worstMs: worst.ms, worstAt: worst.at };
}

/** The occurrences of a strip without a job that is made ahead of its time. */
export const pastOf = <Item extends Pick<StripItem, "outcome">>(items: readonly Item[]) =>
  items.filter(({ outcome }) => outcome !== "planned");
