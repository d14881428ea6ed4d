import type { JobFilter, JobGroup, JobState, RetryFilter } from "../../../client/job.ts";
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
] as const;

const states = [
  "waiting",
  "running",
  "retrying",
  "succeeded",
  "dead",
  "skipped",
  "cancelled",
] as const satisfies readonly JobState[];

/** In the words of the rows. */
export const stateWords = states.map((state) => [state, lookOf(outcomeOfState(state)).word] as const);

export function readJobSearch(search: Record<string, unknown>): JobSearch {
  const state = choiceIn(search, "state", states);
  const upcoming = choiceIn(search, "upcoming", ["true", "false"]);
  return {
    ...textsIn(search, names),
    ...(state === undefined ? {} : { state }),
    ...(upcoming === undefined ? {} : { upcoming }),
  };
}

/** Without a choice, jobs whose time has come: those ahead are the plan. */
export function filterOf({ upcoming, ...search }: JobSearch): JobFilter {
  const isOpen = search.state === "waiting";
  return { ...search, ...(upcoming === undefined && isOpen ? {} : { upcoming: upcoming === "true" }) };
}

export function retryFilterOf({ upcoming: _, state, ...search }: JobSearch): RetryFilter {
  return { ...search, state: state === "cancelled" ? "cancelled" : "dead" };
}

/**
 * Finds the jobs of a retry afterwards, among others of the same schedules or target. They have another
 * state then and perhaps no error, and no filter selects the jobs of one action. `from` of dead jobs
 * limits their deaths, and all other searches the occurrences.
 */
export function retriedSearchOf(
  { state, key, prefix, tag, group, target, from, to }: JobSearch,
  chosen: Pick<JobGroup, "target" | "lastAt"> | undefined,
): JobSearch {
  return {
    key,
    prefix,
    tag,
    group,
    target: target ?? chosen?.target ?? undefined,
    from: state === "cancelled" ? from : undefined,
    to: to ?? chosen?.lastAt,
  };
}
