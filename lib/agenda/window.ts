import type { Outcome } from "../explain/verdict.ts";
import { isHeldAt } from "../history/upcoming.ts";
import type { JobKind } from "../job/job-id.ts";
import type { JobRead } from "../job/read-job.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";

/** The longest window of one request: 32 days. */
export const windowMaxMs = 32 * 86_400_000;

/** The occurrences from an instant until before another, in epoch milliseconds. */
export interface Window {
  from: number;
  to: number;
}

/** Selects the schedules of an agenda. */
export interface AgendaFilter {
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  target?: string | undefined;
}

/** One occurrence, or one range of occurrences that got no job. */
export interface AgendaRow {
  occurrence: Date;
  dueAt: Date | null;
  key: string;
  scheduleId: string;
  kind: JobKind;
  outcome: Outcome;
  reason: string | null;
  job: JobRead | null;
  /** Set for a range: `occurrence` is then its last one. */
  passedOver: PassedRange | null;
}

export interface PassedRange {
  from: Date;
  to: Date;
  /** Null if unknown. */
  count: number | null;
  more: boolean;
}

/** A hold that is in force, and its end; null: it has none. */
export interface HeldNow {
  until: Date | null;
}

export function heldNow(
  schedule: Pick<StoredSchedule, "heldSince" | "heldUntil">,
  now: number,
): HeldNow | null {
  return isHeldAt(schedule, now) ? { until: schedule.heldUntil } : null;
}

/** Whether something that is due then waits for the end of the hold. */
export function waitsFor(held: HeldNow | null, due: number): boolean {
  return held !== null && (held.until === null || due <= held.until.getTime());
}

/** The outcome of a job, in the words of an explanation. `held`: the hold of its schedule now. */
export function outcomeOf(
  { state, dueAt, kind }: JobRead,
  { now, held }: { now: number; held: HeldNow | null },
): Outcome {
  if (state === "succeeded") return "ran";
  if (state !== "waiting") return state;
  if (kind !== "manual" && waitsFor(held, dueAt.getTime())) return "held";
  return dueAt.getTime() > now ? "planned" : "waiting";
}

export function rowOfJob(job: JobRead, facts: { now: number; held: HeldNow | null }): AgendaRow {
  const { occurrence, dueAt, key, scheduleId, kind, reason } = job;
  const outcome = outcomeOf(job, facts);
  return { occurrence, dueAt, key, scheduleId, kind, outcome, reason, job, passedOver: null };
}
