import type { ScheduleFilter, ScheduleState } from "../../../client/schedule.ts";

/** The filter in the address, in the API's words. */
export interface ScheduleSearch {
  prefix?: string | undefined;
  tag?: string | undefined;
  group?: string | undefined;
  target?: string | undefined;
  state?: ScheduleState | undefined;
  failing?: "true" | undefined;
}

const texts = ["prefix", "tag", "group", "target"] as const;
const states: readonly string[] = ["active", "paused", "ended"];

/** Reads the address; what it does not know it leaves out. */
export function readScheduleSearch(search: Record<string, unknown>): ScheduleSearch {
  const found: ScheduleSearch = {};
  for (const name of texts) {
    const value = search[name];
    if (typeof value === "string" && value !== "") found[name] = value;
  }
  const { state, failing } = search as { state?: unknown; failing?: unknown };
  if (typeof state === "string" && states.includes(state)) found.state = state as ScheduleState;
  if (failing === "true") found.failing = "true";
  return found;
}

export function filterOf({ failing, ...search }: ScheduleSearch): ScheduleFilter {
  return { ...search, ...(failing === undefined ? {} : { failing: true as const }) };
}
