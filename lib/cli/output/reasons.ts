import type { JobSummary } from "../../client/main.ts";

/** A few words for each `reason` of a job, as in docs/states.md. */
const words: Readonly<Record<string, string>> = {
  attempts: "all attempts of its retry policy failed",
  "gave-up": "its handler or target said that another attempt would not help",
  payload: "its handler does not accept its payload",
  "max-checks": "its handler requested more rechecks than it allows",
  "recheck-past": "its handler requested a recheck in the past",
  "recheck-far": "its handler requested a recheck further ahead than it allows",
  requested: "it was cancelled through the API",
  deleted: "its schedule was deleted before it had run",
  moved: "its schedule moved to another installation, or came from one",
  superseded: "its schedule was edited before",
  late: "it could only have started after its deadline",
  overlap: "an earlier run was not over yet",
  missed: "it could not be planned in time, and catchUp leaves it out",
  paused: "its schedule was held, and catchUp leaves it out",
  calendar: "a calendar leaves out its day",
};

const waits: Readonly<Record<NonNullable<JobSummary["waitsFor"]>, string>> = {
  time: "waits for its time",
  hold: "held",
  overlap: "waits for the run before it",
  group: "waits for its turn in the group",
  target: "waits for room at its target",
  worker: "waits for a worker",
};

/** The cause for which an open job waits. */
export const waitText = (waitsFor: NonNullable<JobSummary["waitsFor"]>): string => waits[waitsFor];

export function reasonText(reason: string): string {
  const text = words[reason];
  return text === undefined ? reason : `${reason}: ${text}`;
}
