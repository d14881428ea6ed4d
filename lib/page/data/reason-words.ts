import type { JobSummary } from "../../client/job.ts";
import type { Outcome } from "../../client/time.ts";
import { outcomeOfState } from "./outcomes.ts";

/** The reasons of `docs/states.md`, as short as a row has room for. */
const words: Readonly<Record<string, string>> = {
  late: "could only have started after its deadline",
  overlap: "an earlier run was not over yet",
  missed: "no tick planned it in time, and it is not made up",
  paused: "was held when it was due, and is not made up",
  calendar: "its calendar leaves out the day",
  deleted: "its schedule was deleted before",
  moved: "its schedule moved to another installation, or came from one",
  retention: "was older than the retention of jobs",
  unreadable: "its schedule could not be read",
  attempts: "all attempts failed",
  "gave-up": "the target said that another attempt would not help",
  payload: "the handler refuses the payload",
  "max-checks": "too many rechecks",
  "recheck-past": "its handler asked for a recheck in the past",
  "recheck-far": "its handler asked for a recheck too far ahead",
  requested: "on request",
  superseded: "an edit of its schedule replaced it",
};

const explained: ReadonlySet<Outcome> = new Set(["skipped", "dead", "cancelled"]);

/** Why a run did not come to its end; null where the outcome says all. */
export function whyText(outcome: Outcome, reason: string | null): string | null {
  if (reason === null || !explained.has(outcome)) return null;
  return words[reason] ?? reason;
}

const waits: Readonly<Record<NonNullable<JobSummary["waitsFor"]>, string>> = {
  hold: "waits for the end of a hold",
  overlap: "waits for the run before it",
  group: "waits for its turn in the group",
  target: "waits for room at its target",
  time: "waits for its time",
  worker: "waits for a worker",
};

/** The cause for which an open job waits. */
export const waitText = (waitsFor: NonNullable<JobSummary["waitsFor"]>): string => waits[waitsFor];

/** The cause of the state of a job, as short as a row has room for; empty where the state says all. */
export function causeText({ state, error, reason, waitsFor }: JobSummary): string {
  if (error !== null) return error;
  if (waitsFor !== null) return waitText(waitsFor);
  return whyText(outcomeOfState(state), reason) ?? "";
}
