import { isRun, nextRunAfter } from "../cadence/cadence.ts";
import { dueAt, occurrenceDueBy } from "../schedule/stored/timetable.ts";
import type { PlannedGroup } from "./planned-group.ts";

export const minuteMs = 60_000;

export interface Minute {
  at: number;
  fires: number;
  /** Fires due exactly at their occurrence, which a spread would distribute. */
  together: number;
  /** The fires of each rule. */
  shares: Map<string, number>;
  /** The fires of each contributor, where they were asked for. */
  names: Map<string, number>;
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

export interface Window {
  /** The first minute. */
  from: number;
  /** The number of minutes. */
  count: number;
  /** The present minute; what is late fires then. Default: the first one. */
  now?: number;
  runsMax?: number;
}

/**
 * Fires per minute. Each rule is unfolded once for all schedules that share it and its next
 * occurrence.
 */
export function unfoldMinutes(
  groups: readonly PlannedGroup[],
  { from, count, now = from, runsMax = allRunsMax }: Window,
): Unfolded {
  const minutes = Array.from({ length: count }, (_, index): Minute => {
    return { at: from + index * minuteMs, fires: 0, together: 0, shares: new Map(), names: new Map() };
  });
  const end = from + count * minuteMs;
  let exact = true;
  let left = runsMax;
  for (const [index, group] of groups.entries()) {
    // The remaining groups share the steps that earlier groups did not need.
    const most = Math.max(1, Math.floor(left / (groups.length - index)));
    const followed = follow(group, { from, now, end, most }, (due) =>
      add(minutes[Math.floor((due - from) / minuteMs)], group, 1),
    );
    left -= followed.runs;
    if (followed.upTo >= end) continue;
    exact = false;
    spreadOn(minutes, group, followed.runs / (followed.upTo - from), followed.upTo);
  }
  return { minutes, exact };
}

/** Largest number of runs computed for the minutes before the present one. */
const passedRunsMax = 250_000;

/**
 * The minutes from an instant until before the present one, as the rules of the groups gave them: what a
 * spread would have moved out of them. Only fires that a spread moves are looked at.
 */
export function unfoldPassed(
  groups: readonly PlannedGroup[],
  { from, now }: { from: number; now: number },
): Unfolded {
  const before = groups.flatMap((group) => plannedAt(group, from, now));
  return unfoldMinutes(before, { from, count: (now - from) / minuteMs, runsMax: passedRunsMax });
}

/** The group as it was planned at an instant. One that is late has its passed fires still to come. */
function plannedAt(group: PlannedGroup, from: number, now: number): PlannedGroup[] {
  const { due, cadence, everyMs } = group;
  if (!isTogether(group) || due < now) return [];
  const [first] = occurrencesAfter(group, due, from - 1);
  if (first === undefined || first >= now) return [];
  if (everyMs !== null) return [{ ...group, due: first }];
  return cadence === null ? [] : [{ ...group, due: first, cadence: { ...cadence, occurrence: first } }];
}

function add(minute: Minute | undefined, group: PlannedGroup, runs: number): void {
  if (minute === undefined) return;
  const fires = runs * group.schedules;
  minute.fires += fires;
  if (isTogether(group)) minute.together += fires;
  grow(minute.shares, ruleOf(group), fires);
  for (const name of group.names) grow(minute.names, name, fires);
}

export function grow(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/**
 * Calls `found` for each due time of the group, up to the end or `most` of them, and returns how
 * far it has come.
 */
function follow(
  group: PlannedGroup,
  { from, now, end, most }: { from: number; now: number; end: number; most: number },
  found: (due: number) => void,
): { runs: number; upTo: number } {
  let runs = 0;
  for (const due of duesOf(group, { from, now })) {
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

export function ruleOf({ cadence, everyMs, isInterval, release }: PlannedGroup): string {
  if (release !== null) return `release ${release.owner ?? ""}`;
  if (cadence !== null) return `cadence ${cadence.id}`;
  if (everyMs !== null) return `every ${everyMs}`;
  return isInterval ? "long intervals" : "single";
}

/**
 * Crons fire together; intervals too that were made in one second, and schedules that fire once at
 * one instant. Those with other phases are as even after a spread as before. In a slot, schedules
 * fire together on purpose, and no spread moves the end of a hold.
 */
function isTogether({ unmoved, release }: PlannedGroup): boolean {
  return unmoved && release === null;
}

/** An occurrence that is due already fires once, as soon as a tick comes. */
function* duesOf(group: PlannedGroup, { from, now }: { from: number; now: number }): Generator<number> {
  const { due, cadence } = group;
  const first = Math.max(due, now);
  if (first >= from && (cadence === null || isRun(cadence.of, cadence.occurrence))) yield first;
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
