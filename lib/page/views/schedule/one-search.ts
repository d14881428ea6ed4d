import { textsIn } from "../../data/search-texts.ts";
import { monthIn } from "../../data/time/months.ts";

export interface OneSearch {
  /** The instant that is explained. */
  why?: string | undefined;
  /** The month of the calendar, in the schedule's zone. */
  month?: string | undefined;
}

export function readOneSearch(search: Record<string, unknown>): OneSearch {
  return { ...textsIn(search, ["why"]), ...monthIn(search) };
}
