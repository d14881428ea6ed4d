import { type JobFilter, type JobState, jobStates, type RetryFilter } from "../../../client/job.ts";
import { lookOf, outcomeOfState } from "../../data/outcomes.ts";
import { choiceIn, textsIn } from "../../data/search-texts.ts";

/** The filter in the address, in the API's words. */
export interface JobSearch {
  state?: JobState | undefined;
  key?: string | undefined;
  prefix?: string | undefined;
  tag?: string | undefined;
  group?: string | undefined;
  target?: string | undefined;
  errorGroup?: string | undefined;
  reason?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  lateBy?: string | undefined;
  /** Entries of the audit: the jobs that these retried or cancelled. */
  entry?: string | undefined;
  upcoming?: "true" | "false" | undefined;
}

const names = [
  "key",
  "prefix",
  "tag",
  "group",
  "target",
  "errorGroup",
  "reason",
  "from",
  "to",
  "lateBy",
  "entry",
] as const;

/** In the words of the rows, where skipped jobs are called so, or missed, by their reason. */
export const stateWords = jobStates.map(
  (state) => [state, state === "skipped" ? "skipped or missed" : lookOf(outcomeOfState(state)).word] as const,
);

export function readJobSearch(search: Record<string, unknown>): JobSearch {
  const state = choiceIn(search, "state", jobStates);
  const upcoming = choiceIn(search, "upcoming", ["true", "false"]);
  return {
    ...textsIn(search, names),
    ...(state === undefined ? {} : { state }),
    ...(upcoming === undefined ? {} : { upcoming }),
  };
}

/** Without a choice, jobs whose time has come: those ahead are the plan. */
export function filterOf({ upcoming, ...search }: JobSearch): JobFilter {
  const { entry, state, prefix } = search;
  if (entry !== undefined) return { entry, state, prefix };
  const isOpen = search.state === "waiting";
  return { ...search, ...(upcoming === undefined && isOpen ? {} : { upcoming: upcoming === "true" }) };
}

export function retryFilterOf({ upcoming: _, entry: __, state, ...search }: JobSearch): RetryFilter {
  return { ...search, state: state === "cancelled" ? "cancelled" : "dead" };
}
