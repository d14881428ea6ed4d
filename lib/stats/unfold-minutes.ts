import { isRun, nextRunAfter } from "../cadence/cadence.ts";
import type { PlannedGroup } from "./planned-groups.ts";

export const minuteMs = 60_000;

/** What one rule contributes to one minute. */
export interface Share {
  /** The shared cadence, or the interval; null for what fires once. */
  rule: string | null;
  fires: number;
}

export interface Minute {
  at: number;
  fires: number;
  /** Of the fires: due exactly when their cadence says, so that a spread would move them. */
  together: number;
  shares: Map<string, number>;
}

/** A rule with so many runs in the time asked for is a mistake somewhere: what comes after them is left out. */
const runsMax = 100_000;

/** Fires per minute: each rule is unfolded once for all schedules that share it and its next occurrence. */
export function unfoldMinutes(groups: readonly PlannedGroup[], from: number, minutes: number): Minute[] {
  const line = Array.from({ length: minutes }, (_, index): Minute => {
    return { at: from + index * minuteMs, fires: 0, together: 0, shares: new Map() };
  });
  const add = (due: number, group: PlannedGroup) => {
    const minute = line[Math.floor((due - from) / minuteMs)];
    if (minute === undefined) return;
    minute.fires += group.schedules;
    if (isTogether(group)) minute.together += group.schedules;
    const rule = ruleOf(group);
    minute.shares.set(rule, (minute.shares.get(rule) ?? 0) + group.schedules);
  };
  for (const group of groups) {
    for (const due of duesOf(group, from, from + minutes * minuteMs)) add(due, group);
  }
  return line;
}

export function ruleOf({ cadence, everyMs }: PlannedGroup): string {
  if (cadence !== null) return `cadence ${cadence.id}`;
  return everyMs === null ? "single" : `every ${everyMs}`;
}

/** Intervals have each its own phase; what fires once has its own instant. Crons meet, unless a spread has moved them. */
function isTogether({ cadence, due }: PlannedGroup): boolean {
  return cadence !== null && due === cadence.occurrence;
}

/** What is due already fires once, as soon as a tick comes. */
function* duesOf({ due, cadence, everyMs }: PlannedGroup, from: number, end: number): Generator<number> {
  if (cadence === null || isRun(cadence.of, cadence.occurrence)) yield Math.max(due, from);
  const lag = cadence === null ? 0 : due - cadence.occurrence;
  const following = (after: number): number | null => {
    if (everyMs !== null) return due + (Math.floor((after - due) / everyMs) + 1) * everyMs;
    const next = cadence === null ? null : nextRunAfter(cadence.of, after - lag);
    return next === null ? null : next + lag;
  };
  let at = following(Math.max(due, from - 1));
  for (let run = 0; at !== null && at < end && run < runsMax; run++) {
    yield at;
    at = following(at);
  }
}
