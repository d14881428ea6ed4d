import { isRun, nextRunAfter } from "../cadence/cadence.ts";
import { dueAt, occurrenceDueBy } from "../schedule/stored/timetable.ts";
import type { PlannedGroup } from "./planned-groups.ts";

export const minuteMs = 60_000;

/** The contribution of one rule to one minute. */
export interface Share {
  /** The shared cadence, or the interval, or `single` for schedules that fire once. */
  rule: string | null;
  fires: number;
}

export interface Minute {
  at: number;
  fires: number;
  /** Fires due exactly at their occurrence of a shared cadence, which a spread would distribute. */
  together: number;
  shares: Map<string, number>;
}

/** Largest number of runs computed for all rules together, which takes some seconds. */
const allRunsMax = 500_000;

export interface Unfolded {
  minutes: Minute[];
  /**
   * False if a rule was not computed to the end: from there on, its rate so far is assumed,
   * distributed evenly.
   */
  exact: boolean;
}

/**
 * Fires per minute. Each rule is unfolded once for all schedules that share it and its next
 * occurrence.
 */
export function unfoldMinutes(
  groups: readonly PlannedGroup[],
  from: number,
  count: number,
  runsMax: number = allRunsMax,
): Unfolded {
  const minutes = Array.from({ length: count }, (_, index): Minute => {
    return { at: from + index * minuteMs, fires: 0, together: 0, shares: new Map() };
  });
  const end = from + count * minuteMs;
  let exact = true;
  let left = runsMax;
  for (const [index, group] of groups.entries()) {
    // The remaining groups share the steps that earlier groups did not need.
    const most = Math.max(1, Math.floor(left / (groups.length - index)));
    const followed = follow(group, { from, end, most }, (due) =>
      add(minutes[Math.floor((due - from) / minuteMs)], group, 1),
    );
    left -= followed.runs;
    if (followed.upTo >= end) continue;
    exact = false;
    spreadOn(minutes, group, followed.runs / (followed.upTo - from), followed.upTo);
  }
  return { minutes, exact };
}

function add(minute: Minute | undefined, group: PlannedGroup, runs: number): void {
  if (minute === undefined) return;
  const fires = runs * group.schedules;
  minute.fires += fires;
  if (isTogether(group)) minute.together += fires;
  const rule = ruleOf(group);
  minute.shares.set(rule, (minute.shares.get(rule) ?? 0) + fires);
}

/**
 * Calls `found` for each due time of the group, up to the end or `most` of them, and returns how
 * far it has come.
 */
function follow(
  group: PlannedGroup,
  { from, end, most }: { from: number; end: number; most: number },
  found: (due: number) => void,
): { runs: number; upTo: number } {
  let runs = 0;
  for (const due of duesOf(group, from)) {
    if (due >= end) break;
    if (runs === most) return { runs, upTo: Math.max(due, from + 1) };
    runs += 1;
    found(due);
  }
  return { runs, upTo: end };
}

function spreadOn(minutes: readonly Minute[], group: PlannedGroup, perMs: number, upTo: number): void {
  for (const minute of minutes) {
    const ms = Math.min(minuteMs, minute.at + minuteMs - upTo);
    if (ms > 0) add(minute, group, ms * perMs);
  }
}

export function ruleOf({ cadence, everyMs }: PlannedGroup): string {
  if (cadence !== null) return `cadence ${cadence.id}`;
  return everyMs === null ? "single" : `every ${everyMs}`;
}

/**
 * Only crons fire together, unless a spread has moved them. An interval has its own phase, and a
 * schedule that fires once its own instant. In a slot, schedules fire together on purpose.
 */
function isTogether({ cadence, due, slot }: PlannedGroup): boolean {
  return cadence !== null && slot === null && due === cadence.occurrence;
}

/** An occurrence that is due already fires once, as soon as a tick comes. */
function* duesOf(group: PlannedGroup, from: number): Generator<number> {
  const { due, cadence } = group;
  if (cadence === null || isRun(cadence.of, cadence.occurrence)) yield Math.max(due, from);
  yield* group.slot === null ? evenDues(group, from) : slotDues(group, group.slot, from);
}

/** Each due time lags behind its occurrence as much as the first. */
function* evenDues({ due, cadence, everyMs }: PlannedGroup, from: number): Generator<number> {
  const lag = cadence === null ? 0 : due - cadence.occurrence;
  const after = Math.max(due, from - 1);
  for (const at of occurrencesAfter({ cadence, everyMs }, due - lag, after - lag)) yield at + lag;
}

/** Several occurrences may be due at the end of one slot. */
function* slotDues(
  { cadence, everyMs }: PlannedGroup,
  slot: NonNullable<PlannedGroup["slot"]>,
  from: number,
): Generator<number> {
  const after = Math.max(slot.occurrence, occurrenceDueBy(slot, from - 1));
  for (const at of occurrencesAfter({ cadence, everyMs }, slot.occurrence, after)) yield dueAt(slot, at);
}

function* occurrencesAfter(
  { cadence, everyMs }: Pick<PlannedGroup, "cadence" | "everyMs">,
  first: number,
  after: number,
): Generator<number> {
  if (everyMs !== null) {
    for (let at = first + (Math.floor((after - first) / everyMs) + 1) * everyMs; ; at += everyMs) yield at;
  }
  if (cadence === null) return;
  for (let at = nextRunAfter(cadence.of, after); at !== null; at = nextRunAfter(cadence.of, at)) yield at;
}
