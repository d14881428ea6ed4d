import type { HoldFilter } from "../../../client/holds.ts";
import { choiceIn, textsIn } from "../../data/search-texts.ts";

export interface HoldSearch {
  owner?: string | undefined;
  prefix?: string | undefined;
  ended?: "true" | undefined;
}

export function readHoldSearch(search: Record<string, unknown>): HoldSearch {
  const ended = choiceIn(search, "ended", ["true"]);
  return { ...textsIn(search, ["owner", "prefix"]), ...(ended === undefined ? {} : { ended }) };
}

export function filterOf({ ended, ...search }: HoldSearch): HoldFilter {
  return { ...search, ...(ended === undefined ? {} : { ended: true }) };
}
