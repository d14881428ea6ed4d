import { isRun, nextRunAfter } from "../cadence/cadence.ts";
import { dueAt, occurrenceDueBy } from "../schedule/timetable.ts";
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

/**
 * Intervals have each its own phase; what fires once has its own instant. Crons meet, unless a spread has moved them; in a slot they
 * meet on purpose.
 */
function isTogether({ cadence, due, slot }: PlannedGroup): boolean {
  return cadence !== null && slot === null && due === cadence.occurrence;
}

/** What is due already fires once, as soon as a tick comes. */
function* duesOf(group: PlannedGroup, from: number, end: number): Generator<number> {
  const { due, cadence } = group;
  if (cadence === null || isRun(cadence.of, cadence.occurrence)) yield Math.max(due, from);
  let run = 0;
  for (const at of group.slot === null ? evenDues(group, from) : slotDues(group, group.slot, from)) {
    if (at >= end || run++ >= runsMax) return;
    yield at;
  }
}

/** Each as long after its occurrence as the first. */
function* evenDues({ due, cadence, everyMs }: PlannedGroup, from: number): Generator<number> {
  const lag = cadence === null ? 0 : due - cadence.occurrence;
  const after = Math.max(due, from - 1);
  for (const at of occurrencesAfter({ cadence, everyMs }, due - lag, after - lag)) yield at + lag;
}

/** Several may be due at the end of one slot. */
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
