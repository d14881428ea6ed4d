import type { Outcome } from "../explain/verdict.ts";

/** The outcomes that a row of an agenda can have. */
export const agendaOutcomes = [
  "ran",
  "running",
  "waiting",
  "retrying",
  "dead",
  "cancelled",
  "skipped",
  "held",
  "backlog",
  "planned",
  "not-planned-yet",
  "set-aside",
  "unrecorded",
] as const satisfies readonly Outcome[];

export type AgendaOutcome = (typeof agendaOutcomes)[number];

export type StoredState = "waiting" | "succeeded" | "skipped" | "dead" | "cancelled";

/** Where rows of one outcome may come from, so that a page reads nothing else. */
interface Origin {
  /** The stored states of their jobs. A claim, a deletion and a hold change what a waiting job is read as. */
  jobs?: readonly StoredState[];
  /** The ranges that have them. */
  ranges?: "passed" | "owed";
  /** Rows that a cadence gives: with a job or without. */
  isComputed: boolean;
}

const waiting = ["waiting"] as const;

/** An outcome that only a job has is found among the jobs, also beyond the line. */
const origins: Readonly<Record<AgendaOutcome, Origin>> = {
  ran: { jobs: ["succeeded"], isComputed: false },
  running: { jobs: waiting, isComputed: false },
  waiting: { jobs: waiting, isComputed: false },
  retrying: { jobs: waiting, isComputed: false },
  dead: { jobs: ["dead"], isComputed: false },
  cancelled: { jobs: ["cancelled", "waiting"], isComputed: false },
  skipped: { jobs: ["skipped"], ranges: "passed", isComputed: true },
  held: { jobs: waiting, isComputed: true },
  backlog: { ranges: "owed", isComputed: false },
  planned: { jobs: waiting, isComputed: true },
  "not-planned-yet": { isComputed: true },
  "set-aside": { isComputed: true },
  unrecorded: { isComputed: true },
};

/** Whether a stream of the agenda may have rows of this outcome; without one, any. */
export function hasStream(
  outcome: AgendaOutcome | undefined,
  stream: "jobs" | "passed" | "owed" | "computed",
): boolean {
  if (outcome === undefined) return true;
  const { jobs, ranges, isComputed } = origins[outcome];
  if (stream === "jobs") return jobs !== undefined;
  return stream === "computed" ? isComputed : ranges === stream;
}

interface StoredJob {
  state?: StoredState;
  heldSince: Date | null;
}

/** Whether a job may turn out to have this outcome, as far as its row and its schedule's tell. */
export function mayHave(outcome: AgendaOutcome | undefined, { state, heldSince }: StoredJob): boolean {
  if (outcome === undefined) return true;
  if (outcome === "held" && heldSince === null) return false;
  return state !== undefined && origins[outcome].jobs?.includes(state) === true;
}

/** Whether all schedules that have it are held. */
export const isOfHeld = (outcome: AgendaOutcome | undefined) => outcome === "held";

/** Whether an occurrence that is still to come cannot have it. */
export const isOfPast = (outcome: AgendaOutcome | undefined) =>
  outcome === "not-planned-yet" || outcome === "set-aside" || outcome === "unrecorded";
