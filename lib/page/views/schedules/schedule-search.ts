import type { ScheduleFilter, ScheduleState } from "../../../client/schedule.ts";
import { choiceIn, textsIn } from "../../data/search-texts.ts";

/** The filter in the address, in the API's words. */
export interface ScheduleSearch {
  prefix?: string | undefined;
  tag?: string | undefined;
  group?: string | undefined;
  target?: string | undefined;
  calendar?: string | undefined;
  state?: ScheduleState | undefined;
  failing?: "true" | undefined;
}

export const stateWords: readonly (readonly [ScheduleState, string])[] = [
  ["active", "active"],
  ["paused", "held"],
  ["ended", "ended"],
];

/** Reads the address; what it does not know it leaves out. */
export function readScheduleSearch(search: Record<string, unknown>): ScheduleSearch {
  const state = choiceIn(
    search,
    "state",
    stateWords.map(([each]) => each),
  );
  const failing = choiceIn(search, "failing", ["true"]);
  return {
    ...textsIn(search, ["prefix", "tag", "group", "target", "calendar"]),
    ...(state === undefined ? {} : { state }),
    ...(failing === undefined ? {} : { failing }),
  };
}

export function filterOf({ failing, ...search }: ScheduleSearch): ScheduleFilter {
  return { ...search, ...(failing === undefined ? {} : { failing: true as const }) };
}
