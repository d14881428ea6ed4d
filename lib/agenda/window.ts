import type { HeldBy, Outcome } from "../explain/verdict.ts";
import type { JobKind } from "../job/job-id.ts";
import type { JobRead } from "../job/read-job.ts";
import { type HeldTime, waitsForHold } from "../schedule/held.ts";

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
  /** Those of one rule: of one cadence, one length of interval, or that run once. */
  rule?: number | undefined;
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
  /** For a coming occurrence that a calendar has moved: from where. Else null. */
  note: string | null;
  /** For an occurrence that is held: the holds. Left out if they were released meanwhile. */
  heldBy?: HeldBy[];
}

export interface PassedRange {
  from: Date;
  to: Date;
  /** Null if unknown. */
  count: number | null;
  more: boolean;
}

/** The outcome of a job, in the words of an explanation. `held`: the hold of its schedule now. */
export function outcomeOf(
  { state, dueAt, kind }: JobRead,
  { now, held }: { now: number; held: HeldTime },
): Outcome {
  if (state === "succeeded") return "ran";
  if (state !== "waiting") return state;
  const due = dueAt.getTime();
  if (kind !== "manual" && waitsForHold(held, { now, due })) return "held";
  return due > now ? "planned" : "waiting";
}

export function rowOfJob(job: JobRead, facts: { now: number; held: HeldTime }): AgendaRow {
  const { occurrence, dueAt, key, scheduleId, kind, reason } = job;
  const outcome = outcomeOf(job, facts);
  return { occurrence, dueAt, key, scheduleId, kind, outcome, reason, job, passedOver: null, note: null };
}
