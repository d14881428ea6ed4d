import type { JobState } from "../../client/job.ts";
import type { Outcome } from "../../client/time.ts";

/** How an outcome is drawn. Each has a shape and a word, and colour only besides. */
export type Shape = "bar" | "tall" | "ring" | "half" | "dot" | "hollow" | "pause" | "cross";

export interface OutcomeLook {
  word: string;
  shape: Shape;
  tone: "ok" | "warn" | "bad" | "skip" | "plan";
}

const looks: Readonly<Partial<Record<Outcome, OutcomeLook>>> = {
  ran: { word: "ran", shape: "bar", tone: "ok" },
  running: { word: "is running", shape: "ring", tone: "ok" },
  waiting: { word: "waits", shape: "half", tone: "warn" },
  retrying: { word: "waits for a retry", shape: "half", tone: "warn" },
  dead: { word: "dead", shape: "tall", tone: "bad" },
  cancelled: { word: "cancelled", shape: "cross", tone: "skip" },
  skipped: { word: "skipped", shape: "hollow", tone: "skip" },
  held: { word: "held", shape: "pause", tone: "skip" },
  backlog: { word: "in the backlog", shape: "half", tone: "warn" },
  planned: { word: "planned", shape: "dot", tone: "plan" },
  "not-planned-yet": { word: "not planned yet", shape: "dot", tone: "plan" },
  "set-aside": { word: "set aside", shape: "tall", tone: "warn" },
};

const other: OutcomeLook = { word: "no run", shape: "hollow", tone: "skip" };

export function lookOf(outcome: Outcome): OutcomeLook {
  return looks[outcome] ?? { ...other, word: outcome.replaceAll("-", " ") };
}

/** An occurrence that was skipped because no tick planned it in time. */
export const isMissed = (outcome: Outcome, reason: string | null | undefined): boolean =>
  outcome === "skipped" && reason === "missed";

/** The state of a job as the API names it, and `missed` where that is why it was skipped. */
export const stateWord = ({ state, reason }: { state: JobState; reason: string | null }): string =>
  isMissed(outcomeOfState(state), reason) ? "missed" : state;

/** The outcome that a job of this state has, or will have if it stays in it. */
export const outcomeOfState = (state: JobState): Outcome => (state === "succeeded" ? "ran" : state);
