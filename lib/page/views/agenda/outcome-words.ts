import type { AgendaOutcome } from "../../../client/agenda.ts";
import { lookOf } from "../../data/outcomes.ts";

/** Each outcome as a verb after one run and after several. */
const verbs: Readonly<Record<AgendaOutcome, readonly [one: string, many: string]>> = {
  held: ["is held", "are held"],
  planned: ["is planned", "are planned"],
  ran: ["ran to its end", "ran to their end"],
  skipped: ["was skipped or missed", "were skipped or missed"],
  dead: ["is dead", "are dead"],
  retrying: ["waits for a retry", "wait for a retry"],
  running: ["is running", "are running"],
  waiting: ["waits for its start", "wait for their start"],
  backlog: ["is in the backlog", "are in the backlog"],
  cancelled: ["was cancelled", "were cancelled"],
  "not-planned-yet": ["is not planned yet", "are not planned yet"],
  "set-aside": ["is set aside", "are set aside"],
  unrecorded: ["left no record", "left no record"],
};

/** `is held` after one run, `are held` after several. */
export const outcomeVerb = (outcome: AgendaOutcome, count: number): string =>
  verbs[outcome][count === 1 ? 0 : 1];

/** The word in the choice. The rows of one outcome of the API are called skipped, or missed, by their reason. */
export const outcomeWord = (outcome: AgendaOutcome): string =>
  outcome === "skipped" ? "skipped or missed" : lookOf(outcome).word;
