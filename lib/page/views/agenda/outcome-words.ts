import type { AgendaOutcome, AgendaWindow } from "../../../client/agenda.ts";
import type { InstantText } from "../../../client/json.ts";
import { lookOf } from "../../data/outcomes.ts";

/** Where a window lies, as seen from the answer about it. */
export type Tense = "past" | "ahead" | "both";

export function tenseOf({ from, to }: Pick<AgendaWindow, "from" | "to">, asOf: InstantText): Tense {
  const now = Date.parse(asOf);
  if (new Date(from).getTime() > now) return "ahead";
  return new Date(to).getTime() <= now ? "past" : "both";
}

type Verb = readonly [one: string, many: string];

/** Each outcome as a verb after one run and after several. */
const verbs: Readonly<Record<Exclude<AgendaOutcome, "skipped">, Verb>> = {
  held: ["is held", "are held"],
  planned: ["is planned", "are planned"],
  ran: ["ran to its end", "ran to their end"],
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

/** Only a calendar skips a run ahead of its time. */
const skippedVerbs: Readonly<Record<Tense, Verb>> = {
  past: ["was skipped or missed", "were skipped or missed"],
  ahead: ["is left out by its calendar", "are left out by their calendars"],
  both: ["is skipped or missed", "are skipped or missed"],
};

/** After `no run`, where the verb has a negation of its own. */
const noneVerbs: Readonly<Partial<Record<AgendaOutcome, string>>> = {
  "not-planned-yet": "waits to be planned",
  unrecorded: "lacks a record",
};

/** `is held` after one run or none, `are held` after several. */
export function outcomeVerb(outcome: AgendaOutcome, count: number, tense: Tense): string {
  const none = count === 0 ? noneVerbs[outcome] : undefined;
  if (none !== undefined) return none;
  const [one, many] = outcome === "skipped" ? skippedVerbs[tense] : verbs[outcome];
  return count > 1 ? many : one;
}

/** The word in the choice. The rows of one outcome of the API are called skipped, or missed, by their reason. */
export const outcomeWord = (outcome: AgendaOutcome): string =>
  outcome === "skipped" ? "skipped or missed" : lookOf(outcome).word;
